"""Observations as stacked arrays, with the shape of each checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tightrope.agents.networks.batch_invariance import Arrays
from tightrope.errors import AgentError, AgentFailure


class Part(NamedTuple):
    """One array of an observation: the only one of a Box, one entry of a Dict or Tuple."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pick: Callable[[Any], Any]
    space: gym.Space[Any]


class ObservationStacker:
    """Turns observations of a space into one array per part, a row each."""

    def __init__(self, space: gym.Space[Any]) -> None:
        self.space = space
        self.parts = tuple(_parts(space, "", lambda observation: observation))

    def __call__(self, observations: Sequence[Any]) -> Arrays:
        """Stack a batch; raises AgentFailure at the first observation that is not of the space's shape."""
        return tuple(_stacked(part, observations) for part in self.parts)


def _parts(space: gym.Space[Any], name: str, pick: Callable[[Any], Any]) -> Iterator[Part]:
    if isinstance(space, gym.spaces.Dict):
        for key, inner in space.spaces.items():
            yield from _parts(inner, f"{name}.{key}" if name else str(key), _Picker(pick, key))
    elif isinstance(space, gym.spaces.Tuple):
        for index, inner in enumerate(space.spaces):
            yield from _parts(inner, f"{name}.{index}" if name else str(index), _Picker(pick, index))
    elif space.shape is not None and space.dtype is not None and np.dtype(space.dtype).kind in "biuf":
        yield Part(name or "observation", space.shape, np.dtype(space.dtype), pick, space)
    else:
        raise AgentError(
            f"observations from {space} cannot be given to a network; wrap the environment so that they are numbers, "
            f"or give the agent as a Python callable"
        )


class _Picker:
    def __init__(self, outer: Callable[[Any], Any], key: Any) -> None:
        self.outer, self.key = outer, key

    def __call__(self, observation: Any) -> Any:
        return self.outer(observation)[self.key]


def _stacked(part: Part, observations: Sequence[Any]) -> NDArray[Any]:
    stacked = np.empty((len(observations), *part.shape), part.dtype)
    for row, observation in enumerate(observations):
        try:
            value = np.asarray(part.pick(observation))
        except (KeyError, IndexError, TypeError) as error:
            raise AgentFailure(
                f"the agent was made for observations with {part.name!r}, and was given {observation!r:.200}"
            ) from error
        if value.shape != part.shape:
            raise AgentFailure(
                f"the agent was made for observations of shape {part.shape} ({part.name}), "
                f"and was given one of shape {value.shape}"
            )
        stacked[row] = value
    return stacked
