"""Tasks of worlds written in JAX."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np

from tightrope.tasks.jaxworlds.environment import JaxEnvironment
from tightrope.tasks.jaxworlds.rows import import_jax
from tightrope.tasks.jaxworlds.world import World
from tightrope.tasks.task import Task, Transition


def jax_task(make_world: Callable[[], World], **fields: Any) -> Task:
    """A task of a world written in JAX; goal and unsafe are the world's own.

    Args:
        make_world: Makes the world, in every process that needs it.
        **fields: Fields of the ``Task``: its name, actions, keys and so on.
    """
    return Task(
        **{
            "make_env": partial(_environment, make_world),
            "goal": reached,
            "unsafe": harmed,
            "identity": exact_situation,
            **fields,
        }
    )


_worlds: dict[Callable[[], World], World] = {}


def _environment(make_world: Callable[[], World]) -> JaxEnvironment:
    """Environments of one process share a world, which is compiled once."""
    if make_world not in _worlds:
        _worlds[make_world] = make_world()
    return JaxEnvironment(_worlds[make_world])


def reached(transition: Transition) -> bool:
    """The world says that the task is solved."""
    return bool(transition.info["goal"])


def harmed(transition: Transition) -> bool:
    """The world says that safety was violated."""
    return bool(transition.info["unsafe"])


def exact_situation(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """All numbers of the state, without the key: where nothing is drawn, it bears on nothing."""
    _, state = env.unwrapped.situation
    return b"".join(np.asarray(leaf).tobytes() for leaf in import_jax().tree.leaves(state))
