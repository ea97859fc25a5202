"""Crafter, whose own interface is that of the old Gym and takes no seed at reset."""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.errors import require_extra


class CrafterEnv(gym.Env[Any, Any]):
    """A game of Crafter. ``info`` has ``health``, ``inventory``, ``achievements``, ``player_pos``."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - Gymnasium's own declaration
    render_mode = "rgb_array"

    def __init__(self, **options: Any) -> None:
        library: Any = require_extra("crafter", "crafter", "a game of Crafter")
        self._game = library.Env(seed=0, **options)
        self._game._world.reset = partial(_reset_in_order, self._game._world)
        self.action_names = tuple(self._game.action_names)
        self.action_space = gym.spaces.Discrete(len(self.action_names))
        shape = tuple(int(size) for size in self._game.observation_space.shape)
        self.observation_space = gym.spaces.Box(0, 255, shape, np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a game; the same seed is the same world."""
        super().reset(seed=seed)
        if seed is not None:
            # The game's own seed is that of its first episode.
            self._game._seed, self._game._episode = seed, 0
        return self._game.reset(), {"health": int(self._game._player.health)}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play an action; the game is terminated by death, and truncated by its own length."""
        observation, reward, done, told = self._game.step(int(action))
        dead = self._game._player.health <= 0
        info = {"health": int(self._game._player.health), "inventory": told["inventory"]}
        info |= {"achievements": told["achievements"], "player_pos": tuple(int(place) for place in told["player_pos"])}
        return observation, float(reward), bool(dead), bool(done and not dead), info

    def render(self) -> Any:
        """The picture that the player sees."""
        return self._game.render((256, 256))

    def save_state(self) -> Any:
        """The world and who lives in it; pictures and views stay where they are."""
        game, buffer = self._game, io.BytesIO()
        world = {name: value for name, value in vars(game._world).items() if name != "reset"}
        held = (world, game._player, game._step, game._last_health, game._unlocked, game._episode)
        _Saver(buffer, game._world).dump(held)
        return buffer.getvalue(), game._seed

    def load_state(self, saved: Any) -> None:
        """Put a world back."""
        game, (content, game._seed) = self._game, saved
        world, *rest = _Loader(io.BytesIO(content), game._world).load()
        vars(game._world).update(world)
        game._player, game._step, game._last_health, game._unlocked, game._episode = rest

    def reseed(self, seed: int) -> None:
        """Same world, fresh randomness."""
        self._game._world.random.seed(seed % 2**32)


class _InOrder(dict[Any, None]):
    """A set that is gone through in the order in which its members came."""

    def add(self, member: Any) -> None:
        self[member] = None

    def remove(self, member: Any) -> None:
        del self[member]


def _reset_in_order(world: Any, seed: int | None = None) -> None:
    """The game draws a creature from a set of them, whose order depends on where in memory they happen to lie."""
    type(world).reset(world, seed)
    world._chunks = defaultdict(_InOrder)


class _Saver(pickle.Pickler):
    """Everything points to the world; it is saved once, by what it holds."""

    def __init__(self, buffer: io.BytesIO, world: Any) -> None:
        super().__init__(buffer, 5)
        self._world = world

    def persistent_id(self, value: Any) -> str | None:
        return "world" if value is self._world else None


class _Loader(pickle.Unpickler):
    """Only ever given what `_Saver` made in this process."""

    def __init__(self, buffer: io.BytesIO, world: Any) -> None:
        super().__init__(buffer)
        self._world = world

    def persistent_load(self, name: str) -> Any:
        return self._world


def crafter_env(**options: Any) -> gym.Env[Any, Any]:
    """A game of Crafter as a Gymnasium environment that can be saved exactly.

    Args:
        **options: Options of ``crafter.Env``: ``area``, ``view``, ``size``, ``length``, ``reward``.
    """
    return CrafterEnv(**options)
