"""The Python object behind an agent, asked so that every episode has its own memory and its own random numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tightrope.agents.objects.asking import Asking
from tightrope.agents.objects.contents import Contents
from tightrope.agents.objects.copies import Copier
from tightrope.agents.objects.randomness import own_generators, seeded
from tightrope.tasks.observations import own_copy


@dataclass(frozen=True, kw_only=True)
class Nature:
    """What an object does when it is asked."""

    keeps: bool = False
    """It changes, or may begin an episode (``reset``): every episode has a copy of it, as it was when it was given."""
    draws: bool = False
    """It draws random numbers by itself: they are seeded from the episode's stream."""
    learns: bool = False
    """It changes the weights of a network while it answers: copies do not share them."""
    told: bool = False
    """It is handed its memory and hands it back (``memory``, ``state``)."""

    @property
    def remembers(self) -> bool:
        """Whether an answer depends on earlier ones of the episode."""
        return self.keeps or self.told


class Life:
    """An object in one episode: a copy of its own, which remembers nothing else."""

    __slots__ = ("_copier", "generators", "thing")

    def __init__(self, thing: Any, copier: Copier, *, draws: bool) -> None:
        self.thing, self._copier = thing, copier
        self.generators: list[Any] | None = own_generators(thing) if draws else None

    def __deepcopy__(self, memo: dict[int, Any]) -> Life:
        return Life(self._copier.copy_of(self.thing), self._copier, draws=self.generators is not None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Life) and Contents(self.thing).digest == Contents(other.thing).digest

    __hash__ = None  # type: ignore[assignment]


class Subject:
    """An object, how it is asked, and what it does then."""

    def __init__(self, thing: Any, asking: Asking, nature: Nature) -> None:
        self.thing, self.asking, self.nature = thing, asking, nature

    def ask(self, observation: Any, memory: Any, stream: np.random.Generator | None, mask: Any) -> tuple[Any, Any]:
        """Answer one observation; ``memory`` is what the last answer in the episode came with, None at its start."""
        if not self.nature.keeps:
            return self._question(self.thing, self._generators, observation, memory, stream, mask)
        life, remembered = (self._born(stream), None) if memory is None else memory
        answer, remembered = self._question(life.thing, life.generators, observation, remembered, stream, mask)
        return answer, (life, remembered)

    def _question(
        self, thing: Any, generators: Any, observation: Any, memory: Any, stream: Any, mask: Any
    ) -> tuple[Any, Any]:
        shown, available = own_copy(observation), own_copy(mask)
        if not self.nature.draws:
            return self.asking(thing, shown, memory, stream, available)
        with seeded(stream, generators or ()):
            return self.asking(thing, shown, memory, stream, available)

    def _born(self, stream: np.random.Generator | None) -> Life:
        thing = self._copier.copy_of(self.thing)
        if not self.nature.draws:
            self.asking.reset(thing, None)
        else:
            assert stream is not None
            with seeded(stream, own_generators(thing)):
                self.asking.reset(thing, stream)
        return Life(thing, self._copier, draws=self.nature.draws)

    @cached_property
    def _copier(self) -> Copier:
        return Copier(self.thing, share_weights=not self.nature.learns)

    @cached_property
    def _generators(self) -> list[Any]:
        return own_generators(self.thing) if self.nature.draws else []

    def __getstate__(self) -> dict[str, Any]:
        # What is told apart by identity is found anew in another process.
        return {"thing": self.thing, "asking": self.asking, "nature": self.nature}
