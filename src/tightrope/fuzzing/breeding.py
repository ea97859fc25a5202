"""The loop: ask the population, execute, tell, until the generations or the budget are used up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    meter = (budget or Budget()).start()
    bred = Bred()
    try:
        ancestors = population.tell(_without_errors(evaluate(population.ask())))
        bred.ancestors = tuple(individual(member, 0) for member in ancestors)
        bred.covered = population.covered.size
        while len(bred.generations) < generations:
            if meter.spent:
                bred.stop_reason = StopReason.BUDGET_SPENT
                break
            bred.add(population.tell(evaluate(population.ask())), population.covered.size)
            meter.spend(bred.generations[-1].steps)
            if on_progress is not None:
                on_progress(Progress("fuzzing", len(bred.generations), generations, _note(bred)))
    except KeyboardInterrupt:
        bred.stop_reason = StopReason.CANCELLED
    return bred


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
