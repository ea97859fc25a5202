"""The loop: ask the population, execute, tell, until the generations or the budget are used up."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tightrope.budget import Budget
from tightrope.errors import EnvironmentFailure
from tightrope.fuzzing.fitness import Played
from tightrope.fuzzing.population import Member, Population, fittest
from tightrope.fuzzing.results import Generation, Individual, individual, summarise
from tightrope.outcome import Outcome, StopReason
from tightrope.progress import Progress, ProgressCallback
from tightrope.trace import ActionTrace

Genome = TypeVar("Genome")


@dataclass(kw_only=True)
class Bred:
    """What the loop has gathered so far."""

    ancestors: tuple[Individual, ...] = ()
    individuals: list[Individual] = field(default_factory=list)
    generations: list[Generation] = field(default_factory=list)
    traces: list[list[ActionTrace]] = field(default_factory=list)
    """The traces of each generation, for the control to match."""
    unsafe_ends: set[int] = field(default_factory=set)
    covered: int = 0
    stop_reason: StopReason = StopReason.COMPLETED

    def add(self, members: Sequence[Member[Any]], covered: int) -> None:
        """Take in a finished generation."""
        index = len(self.generations) + 1
        self.unsafe_ends |= unsafe_ends([member.played for member in members])
        self.covered = covered
        self.individuals.append(individual(fittest(members), index))
        self.generations.append(summarise(members, index, covered, len(self.unsafe_ends)))
        self.traces.append([member.played.trace for member in members])


def breed(
    population: Population[Genome],
    evaluate: Callable[[Sequence[Genome]], list[Played]],
    *,
    generations: int,
    budget: Budget | None,
    on_progress: ProgressCallback | None,
) -> Bred:
    """Breed until ``generations`` are finished, the budget is spent or the user interrupts; keep what is finished."""

    def of_all(asked: Mapping[int, Sequence[Genome]]) -> dict[int, list[Played]]:
        return {place: evaluate(genomes) for place, genomes in asked.items()}

    (bred,) = breed_together([population], of_all, generations=generations, budget=budget, on_progress=on_progress)
    return bred


def breed_together(
    populations: Sequence[Population[Genome]],
    evaluate: Callable[[Mapping[int, Sequence[Genome]]], Mapping[int, list[Played]]],
    *,
    generations: int,
    budget: Budget | None,
    on_progress: ProgressCallback | None,
) -> list[Bred]:
    """Breed several populations that know nothing of each other, each as far as ``breed`` would; ``budget``: of each.

    ``evaluate`` gets the next generation of all that are not finished, by their places: each would end with a wait for
    its longest individual.
    """
    breds = [Bred() for _ in populations]
    breedings = [_breeding(one, bred, generations, budget) for one, bred in zip(populations, breds, strict=True)]
    try:
        asked = {place: next(breeding) for place, breeding in enumerate(breedings)}
        while asked:
            plays = evaluate(asked)
            sent = {place: _sent(breedings[place], plays[place]) for place in asked}
            asked = {place: genomes for place, genomes in sent.items() if genomes is not None}
            finished = sum(len(bred.generations) for bred in breds)
            if on_progress is not None and finished:
                note = _note(breds[0]) if len(breds) == 1 else f"{len(breds)} seeds side by side"
                on_progress(Progress("fuzzing", finished, len(breds) * generations, note))
    except KeyboardInterrupt:
        for bred in breds:
            bred.stop_reason = StopReason.CANCELLED
    return breds


def _sent(breeding: Generator[list[Genome], list[Played], None], plays: list[Played]) -> list[Genome] | None:
    """The generation that is asked for next; None when it was the last."""
    try:
        return breeding.send(plays)
    except StopIteration:
        return None


def _breeding(
    population: Population[Genome], bred: Bred, generations: int, budget: Budget | None
) -> Generator[list[Genome], list[Played], None]:
    """Yields each generation, and is sent what became of it."""
    meter = (budget or Budget()).start()
    ancestors = population.tell(_without_errors((yield population.ask())))
    bred.ancestors = tuple(individual(member, 0) for member in ancestors)
    bred.covered = population.covered.size
    while len(bred.generations) < generations:
        if meter.spent:
            bred.stop_reason = StopReason.BUDGET_SPENT
            break
        members = population.tell((yield population.ask()))
        bred.add(members, population.covered.size)
        meter.spend(bred.generations[-1].steps)


def unsafe_ends(plays: Sequence[Played]) -> set[int]:
    """Hashed keys of the situations in which individuals ended unsafe."""
    return {int(played.keys[-1]) for played in plays if played.outcome is Outcome.UNSAFE and played.keys.size}


def _without_errors(plays: list[Played]) -> list[Played]:
    for played in plays:
        if played.error is not None:
            raise EnvironmentFailure(f"an ancestor could not be executed:\n{played.error}")
    return plays


def _note(bred: Bred) -> str:
    latest, best = bred.generations[-1], bred.individuals[-1]
    return f"return {best.total_return:g} ({best.outcome}), {latest.covered} keys covered, {latest.goals} goals"
