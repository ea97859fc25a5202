"""Environments that no reset brings back to their beginning: every episode gets a new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym


class RenewedEnv(gym.Wrapper[Any, Any, Any, Any]):
    """Makes the environment anew at each reset but the first."""

    replay_only = True
    """What a snapshot would put back is gone after the next reset."""

    def __init__(self, make: Callable[[], gym.Env[Any, Any]]) -> None:
        super().__init__(make())
        self._make = make
        self._new = True

    @property
    def spec(self) -> Any:  # type: ignore[override]
        """That of the environment, to which nobody can see anything added."""
        return self.env.spec

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in an environment that has had none."""
        if not self._new:
            old = self.env.unwrapped
            self.env.close()
            self.env = self._make()
            # Whoever films sets it on the finished environment, and wants every episode to be seen.
            self.env.unwrapped.render_mode = old.render_mode
            # A reset without seed goes on from the generator, as Gymnasium has it: what is new would begin anywhere.
            self.env.unwrapped.np_random = old.np_random
        self._new = False
        return self.env.reset(seed=seed, options=options)


def renewed_env(make: Callable[[], gym.Env[Any, Any]]) -> gym.Env[Any, Any]:
    """An environment that is made anew for every episode, for those whose reset leaves something behind.

    Args:
        make: Returns a new environment; what it costs is paid at every reset.
    """
    return RenewedEnv(make)
