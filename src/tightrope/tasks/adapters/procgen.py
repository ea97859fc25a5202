"""Procgen, whose own interface is gym3: it takes levels instead of seeds and begins the next episode by itself."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.errors import require_extra


class ProcgenEnv(gym.Env[Any, Any]):
    """One level of a game of Procgen: the reset seed is the level."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - Gymnasium's own declaration
    render_mode = "rgb_array"

    def __init__(self, game: str, **options: Any) -> None:
        self._game, self._options = game, options
        self._level = -1
        self._world: Any = None
        self._begun: Any = None
        self._seen: Any = None
        self.action_space = gym.spaces.Discrete(15)
        self.observation_space = gym.spaces.Box(0, 255, (64, 64, 3), np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the level of this seed."""
        super().reset(seed=seed)
        level = int(self.np_random.integers(2**31)) if seed is None else seed % 2**31
        if level != self._level:
            library: Any = require_extra("procgen", "procgen", "a game of Procgen")
            self._world = library.ProcgenGym3Env(
                num=1, env_name=self._game, start_level=level, num_levels=1, num_threads=0, rand_seed=0, **self._options
            )
            self._level, self._begun = level, self._world.callmethod("get_state")
        self._world.callmethod("set_state", self._begun)
        self._seen = self._world.observe()[1]["rgb"][0].copy()
        return self._seen, {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play an action; ``info["complete"]`` says whether a level that ended was solved."""
        self._world.act(np.array([action], np.int32))
        reward, shown, first = self._world.observe()
        over = bool(first[0])
        if not over:
            # After the last step the next episode is shown already; what was seen before stays.
            self._seen = shown["rgb"][0].copy()
        told = self._world.get_info()[0]
        return (
            self._seen,
            float(reward[0]),
            over,
            False,
            {"complete": bool(over and told.get("prev_level_complete", 0))},
        )

    def render(self) -> Any:
        """What is seen."""
        return self._seen

    def save_state(self) -> Any:
        """The game's own state, which has its generators in it; before the first reset there is none."""
        state = None if self._world is None else self._world.callmethod("get_state")
        return self._level, self._begun, state, self._seen

    def load_state(self, saved: Any) -> None:
        """Put a game back; the level may be another than the present one's."""
        level, begun, state, seen = saved
        if state is None:
            # Another reset follows, whatever this game shows until then.
            return
        if level != self._level:
            self.reset(seed=level)
        self._begun, self._seen = begun, seen
        self._world.callmethod("set_state", state)
        self._world.observe()


def procgen_env(game: str, **options: Any) -> gym.Env[Any, Any]:
    """A game of Procgen as a Gymnasium environment: the reset seed is the level, and it can be saved exactly.

    Args:
        game: "coinrun", "maze", "starpilot", …
        **options: Options of ``procgen.ProcgenGym3Env``, such as ``distribution_mode="easy"``.
    """
    return ProcgenEnv(game, **options)
