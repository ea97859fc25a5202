"""Many copies of a world stepped in one call, always the same number of them.

The last digits of what JAX computes hang on the number of rows it computes at once: with 1 and with 4096 they differ,
because the compiler vectorises them differently. So there is one width, whoever asks: a single environment is a row
among copies of itself. What a row shows is then the same wherever it stands and whatever stands beside it, and
conformance checks that on the user's own world like everything else.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache, cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import require_extra
from tightrope.seeding import derive_seed
from tightrope.tasks.jaxworlds.world import Array, World

WIDTH = 256
"""A call costs some 50 µs whatever the width; with 256 rows of CartPole and a small network that is a third of it."""

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"
"""Workers are as many as there are cores: threads of their own would only wait for each other."""


class ShownRows(NamedTuple):
    """What a step showed, a row for each copy."""

    observation: Array
    reward: Array
    terminated: Array
    truncated: Array
    goal: Array
    unsafe: Array


def import_jax() -> Any:
    """JAX, told before it starts that a worker has one thread, and that every answer is waited for."""
    flags = os.environ.get("XLA_FLAGS", "")
    if ONE_THREAD.split("=")[0] not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {ONE_THREAD}".strip()
    jax = require_extra("jax", "jax", "a world written in JAX")
    _wait_for_answers(jax)
    return jax


@cache
def _wait_for_answers(jax: Any) -> None:
    """Handing a call of 20 µs to another thread, and waiting for it, costs more than the call."""
    with suppress(AttributeError):  # a version that has no such setting
        jax.config.update("jax_cpu_enable_async_dispatch", False)


def key_of(seed: int) -> NDArray[np.uint32]:
    """The key that a seed stands for."""
    return np.array([derive_seed("jax key", seed, half) for half in range(2)], dtype=np.uint32)


class Rows:
    """The compiled functions of one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._jax = import_jax()

    def reset(self, key: NDArray[np.uint32]) -> tuple[Any, Array]:
        """The situation that a key leads to, and its observation, in every row."""
        return self._reset(spread(key))  # type: ignore[no-any-return]

    @cached_property
    def step(self) -> Any:
        """``step(situations, actions)`` gives the situations after it, and what they showed."""
        return self._jax.jit(self.stepping)

    @cached_property
    def stepping(self) -> Any:
        """The same, not compiled: to be part of a larger program."""
        jax, world = self._jax, self.world
        dtype = self.canonical(world.observation_space.dtype)

        def one(situation: Any, action: Array) -> tuple[Any, ShownRows]:
            key, state = situation
            key, own = jax.random.split(key)
            moment = world.step(own, state, action)
            goal, unsafe = world.goal(moment), world.unsafe(moment)
            observation = jax.numpy.asarray(moment.observation).astype(dtype)
            shown = ShownRows(observation, moment.reward, moment.terminated, moment.truncated, goal, unsafe)
            return (key, moment.state), shown

        return jax.vmap(one)

    def canonical(self, dtype: Any) -> Any:
        """As what JAX takes numbers of a type: 64 bits are 32, unless it was told otherwise."""
        return self._jax.dtypes.canonicalize_dtype(dtype)

    @cached_property
    def _reset(self) -> Any:
        jax, world = self._jax, self.world

        def one(key: Array) -> tuple[Any, Array]:
            key, own = jax.random.split(key)
            state, observation = world.reset(own)
            return (key, state), observation

        return jax.jit(jax.vmap(one))

    @cached_property
    def step_uses_its_key(self) -> bool:
        """Whether anything a step gives hangs on its key: read off the program, so it holds in every situation."""
        jax, world = self._jax, self.world
        from jax.interpreters import partial_eval

        key = key_of(0)
        state, _ = jax.eval_shape(world.reset, key)
        action = jax.ShapeDtypeStruct(world.action_space.shape, world.action_space.dtype)
        program = jax.make_jaxpr(lambda key, state, action: tuple(world.step(key, state, action)))(key, state, action)
        _, used = partial_eval.dce_jaxpr(program.jaxpr, [True] * len(program.jaxpr.outvars))
        return bool(used[0])

    def row(self, values: Any, place: int = 0) -> Any:
        """One row of a pytree of rows, as NumPy arrays of its own."""
        return self._jax.tree.map(lambda leaf: np.array(np.asarray(leaf)[place]), values)

    def filled(self, situation: Any) -> Any:
        """A situation in every row."""
        return self._jax.tree.map(lambda leaf: spread(leaf), situation)

    def stacked(self, situations: list[Any]) -> Any:
        """Situations as rows."""
        return self._jax.tree.map(lambda *leaves: np.stack(leaves), *situations)

    def replaced(self, rows: Any, places: list[int], new: Any) -> Any:
        """The rows with some of them replaced."""

        def one(leaf: Any, values: Any) -> Any:
            changed = np.array(leaf)
            changed[places] = values
            return changed

        return self._jax.tree.map(one, rows, new)


_rows: WeakKeyDictionary[World, Rows] = WeakKeyDictionary()


def rows_of(world: World) -> Rows:
    """The compiled functions of a world, compiled once in a process."""
    if world not in _rows:
        _rows[world] = Rows(world)
    return _rows[world]


def spread(leaf: Any) -> NDArray[Any]:
    """An array as often as there are rows."""
    array = np.asarray(leaf)
    return np.broadcast_to(array, (WIDTH, *array.shape))
