"""A world written in JAX as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.tasks.jaxworlds.rows import WIDTH, key_of, rows_of
from tightrope.tasks.jaxworlds.world import World


class JaxEnvironment(gym.Env[Any, Any]):
    """One copy of a world. Its state is a value: saving it is keeping it.

    Args:
        world: What it is a copy of.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.observation_space, self.action_space = world.observation_space, world.action_space
        self.max_steps = world.max_steps
        self._rows = rows_of(world)
        self._situation: Any = None

    @property
    def situation(self) -> Any:
        """The key and the state, as a pytree of NumPy arrays."""
        return self._situation

    @property
    def draws_nothing(self) -> bool:
        """Whether steps draw no random numbers: the compiled step does without its key."""
        return not self._rows.step_uses_its_key

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; without a seed, one that follows from where it stands, so that a saved state tells it."""
        super().reset(seed=seed)
        situations, observations = self._rows.reset(self._key(seed))
        self._situation = self._rows.row(situations)
        return self._shown(observations), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step of the one row that counts."""
        dtype = self.action_space.dtype
        actions = np.broadcast_to(np.asarray(action, dtype=dtype), (WIDTH, *np.shape(action)))
        situations, shown = self._rows.step(self._rows.filled(self._situation), actions)
        self._situation = self._rows.row(situations)
        # Told to NumPy as a whole first: taking a row from one of JAX's arrays is a compiled call of its own.
        reward, *flags = (np.asarray(part)[0] for part in shown[1:])
        terminated, truncated, goal, unsafe = map(bool, flags)
        return self._shown(shown.observation), float(reward), terminated, truncated, {"goal": goal, "unsafe": unsafe}

    def save_state(self) -> Any:
        """The situation itself: nobody changes it."""
        return self._situation

    def load_state(self, saved: Any) -> None:
        """Go on from there."""
        self._situation = saved

    def reseed(self, seed: int) -> None:
        """Another key: all randomness from here on follows from it."""
        self._situation = (key_of(seed), self._situation[1])

    def _key(self, seed: int | None) -> Any:
        if seed is not None:
            return key_of(seed)
        if self._situation is not None:
            return self._situation[0]
        return key_of(int(self.np_random.integers(1 << 62)))

    def _shown(self, observations: Any) -> Any:
        return np.array(np.asarray(observations)[0], dtype=self.observation_space.dtype)
