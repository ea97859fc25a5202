"""A population that is asked for individuals and told what became of them. It never touches an environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tightrope.display import Shown
from tightrope.errors import UsageError
from tightrope.fuzzing.fitness import NO_KEYS, Fitness, Keys, Played, grown, score
from tightrope.seeding import generator
from tightrope.settings import FuzzingConfig

Genome = TypeVar("Genome")


@dataclass(frozen=True, kw_only=True)
class Member(Generic[Genome]):
    """One individual of the current generation."""

    genome: Genome
    played: Played
    fitness: Fitness


class Operators(Protocol[Genome]):
    """How one kind of genome is varied: pure functions of parents and a random generator."""

    def mutate(self, parent: Member[Genome], rng: np.random.Generator) -> Genome:
        """A changed copy of the parent's genome."""
        ...

    def cross(self, first: Member[Genome], second: Member[Genome], rng: np.random.Generator) -> Genome | None:
        """A mixture of two; None when these two cannot be mixed."""
        ...

    def cut(self, genome: Genome, played: Played) -> Genome:
        """The genome without what was never played because the episode ended."""
        ...


class Population(Shown, Generic[Genome]):
    """Breeds one generation from the last: ``ask`` for genomes, run them, ``tell`` what happened, in order.

    The first generation asked for is the ancestors. Parents are drawn with probability proportional to fitness.
    Offspring j of generation i has its own random stream, derived from the seed, i and j.

    Args:
        ancestors: The first generation.
        operators: How genomes of this kind are varied.
        size: How many offspring each later generation has.
        crossover: Probability that offspring comes from two parents instead of being a mutation of one.
        weights: How much new state keys, positive and negative rewards count in the fitness.
        truncation: Only this best share of a generation may be parents; None: all.
        seed: Determines everything random.
    """

    _shown = ("generation", "size", "crossover", "weights", "truncation", "seed")

    def __init__(
        self,
        ancestors: Sequence[Genome],
        operators: Operators[Genome],
        *,
        size: int = FuzzingConfig.population,
        crossover: float = FuzzingConfig.crossover,
        weights: tuple[float, float, float] = FuzzingConfig.weights,
        truncation: float | None = FuzzingConfig.truncation,
        seed: int = 0,
    ) -> None:
        if not ancestors:
            raise UsageError("fuzzing needs at least one ancestor; give reference.actions, or a demonstration")
        FuzzingConfig.require(population=size, crossover=crossover, weights=weights, truncation=truncation)
        self.operators = operators
        self.size, self.crossover, self.weights = size, crossover, weights
        self.truncation, self.seed = truncation, seed
        self.generation = 0
        """Index of the generation that ``ask`` gives: 0 is the ancestors."""
        self.members: tuple[Member[Genome], ...] = ()
        self.covered: Keys = NO_KEYS
        """Sorted hashed state keys of every generation told so far."""
        self._asked = list(ancestors)

    def ask(self) -> list[Genome]:
        """The genomes to execute next; asking again gives the same."""
        return list(self._asked)

    def tell(self, plays: Sequence[Played]) -> tuple[Member[Genome], ...]:
        """Take what became of each genome asked for, breed the next generation, return this one's members."""
        if len(plays) != len(self._asked):
            raise UsageError(f"tell needs what became of each of the {len(self._asked)} genomes, and got {len(plays)}")
        fitness = score(plays, self.covered, self.weights)
        # Ancestors are kept whole: where the environment is stochastic, one unlucky execution says little about them.
        genomes = self._asked if self.generation == 0 else list(map(self.operators.cut, self._asked, plays))
        self.members = tuple(
            Member(genome=genome, played=played, fitness=value)
            for genome, played, value in zip(genomes, plays, fitness, strict=True)
        )
        self.covered = grown(self.covered, plays)
        self.generation += 1
        chances = selection_chances([value.value for value in fitness], self.truncation)
        self._asked = [self._offspring(chances, index) for index in range(self.size)]
        return self.members

    def _offspring(self, chances: NDArray[np.float64], index: int) -> Genome:
        rng = generator("offspring", self.seed, self.generation, index)
        first = self._draw(chances, rng)
        if rng.random() < self.crossover:
            child = self.operators.cross(first, self._draw(chances, rng), rng)
            if child is not None:
                return child
        return self.operators.mutate(first, rng)

    def _draw(self, chances: NDArray[np.float64], rng: np.random.Generator) -> Member[Genome]:
        return self.members[int(rng.choice(len(chances), p=chances))]


def fittest(members: Sequence[Member[Genome]]) -> Member[Genome]:
    """The member of the largest fitness; the first of several."""
    return max(members, key=lambda member: member.fitness.value)


def selection_chances(fitness: Sequence[float], truncation: float | None = None) -> NDArray[np.float64]:
    """The probability of each member to be drawn as a parent: proportional to fitness, equal where all are 0."""
    chances = np.asarray(fitness, dtype=np.float64)
    if truncation is not None:
        kept = np.argsort(-chances, kind="stable")[: ceil(truncation * len(chances))]
        best = np.zeros_like(chances)
        best[kept] = chances[kept] if chances[kept].sum() > 0 else 1.0
        chances = best
    total = chances.sum()
    return chances / total if total > 0 else np.full(len(chances), 1.0 / len(chances))
