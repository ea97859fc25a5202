"""Perturbations of an agent's own behaviour, and how lists of them are varied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from tightrope.fuzzing.actions import ActionSource
from tightrope.fuzzing.fitness import Played
from tightrope.fuzzing.mutation import crossing_point
from tightrope.fuzzing.population import Member
from tightrope.settings import FuzzingConfig
from tightrope.trace import Action, content_id
from tightrope.tracefiles import action_from_json


class PerturbationKind(StrEnum):
    """What happens to the agent during a perturbation."""

    OTHER = "other"
    """At each step another action than the one the agent chose."""
    HELD = "held"
    """One action is held."""
    NOISE = "noise"
    """The agent's action with noise: a random one half of the time, or a nearby one where actions are continuous."""


@dataclass(frozen=True, kw_only=True)
class Perturbation:
    """From step ``start`` on, for ``length`` steps, the agent does not get its way."""

    start: int
    length: int
    kind: PerturbationKind
    action: Action
    """What is held; drawn for every kind, so that a change of kind keeps the rest."""
    seed: int
    """Of the random choices the perturbation makes."""

    @property
    def end(self) -> int:
        """The first step that is the agent's own again."""
        return self.start + self.length


def perturbation_from_json(data: Mapping[str, Any]) -> Perturbation:
    """The perturbation that was written as plain values."""
    return Perturbation(**{**data, "kind": PerturbationKind(data["kind"]), "action": action_from_json(data["action"])})


@dataclass(frozen=True)
class Script:
    """Perturbations in the order of their start, none overlapping another. The empty script is the agent itself."""

    perturbations: tuple[Perturbation, ...] = ()

    @classmethod
    def tidied(cls, perturbations: Iterable[Perturbation]) -> Script:
        """In order, without those that begin before an earlier one has ended."""
        kept: list[Perturbation] = []
        for perturbation in sorted(perturbations, key=lambda perturbation: perturbation.start):
            if not kept or perturbation.start >= kept[-1].end:
                kept.append(perturbation)
        return cls(tuple(kept))

    @cached_property
    def id(self) -> str:
        """Identifier derived from the content alone."""
        return content_id(*(repr(perturbation) for perturbation in self.perturbations))


OPERATORS = ("insert", "remove", "change", "move")


@dataclass(frozen=True, kw_only=True)
class ScriptOperators:
    """Mutation and crossover of scripts; ``size`` and ``stop`` mean what they mean for traces."""

    source: ActionSource
    size: int = FuzzingConfig.mutation_size
    stop: float = FuzzingConfig.mutation_stop

    def mutate(self, parent: Member[Script], rng: np.random.Generator) -> Script:
        """Insert, remove, change or move perturbations; stop after each with probability ``stop``. Never empty."""
        perturbations = parent.genome.perturbations
        steps = max(parent.played.steps, 1)
        while True:
            perturbations = self._vary(perturbations, steps, rng)
            if rng.random() < self.stop:
                return Script.tidied(perturbations or (self._random(steps, rng),))

    def cross(self, first: Member[Script], second: Member[Script], rng: np.random.Generator) -> Script | None:
        """What begins before a random step in the first parent, and from it on in the second."""
        cut = crossing_point(first.played.steps, second.played.steps, rng)
        if cut is None:
            return None
        before = (perturbation for perturbation in first.genome.perturbations if perturbation.start < cut)
        after = (perturbation for perturbation in second.genome.perturbations if perturbation.start >= cut)
        child = Script.tidied((*before, *after))
        return child if child.perturbations else None

    def cut(self, genome: Script, played: Played) -> Script:
        """Without the perturbations that the episode never came to."""
        return Script(tuple(part for part in genome.perturbations if part.start < played.steps))

    def _vary(
        self, perturbations: Sequence[Perturbation], steps: int, rng: np.random.Generator
    ) -> tuple[Perturbation, ...]:
        parts = list(perturbations)
        operator = OPERATORS[int(rng.integers(len(OPERATORS)))] if parts else "insert"
        place = int(rng.integers(len(parts))) if parts else 0
        match operator:
            case "insert":
                parts.append(self._random(steps, rng))
            case "remove":
                del parts[place]
            case "change":
                parts[place] = replace(self._random(steps, rng), start=parts[place].start)
            case "move":
                shift = int(rng.integers(-self.size, self.size + 1))
                parts[place] = replace(parts[place], start=max(0, parts[place].start + shift))
        return Script.tidied(parts).perturbations

    def _random(self, steps: int, rng: np.random.Generator) -> Perturbation:
        kinds = tuple(PerturbationKind)
        return Perturbation(
            start=int(rng.integers(steps)),
            length=int(rng.integers(1, self.size + 1)),
            kind=kinds[int(rng.integers(len(kinds)))],
            action=self.source.draw(rng),
            seed=int(rng.integers(2**31)),
        )
