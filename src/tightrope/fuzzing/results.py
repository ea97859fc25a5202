"""What fuzzing found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, pstdev
from typing import Any, Literal, TypeAlias

from tightrope.display import Shown
from tightrope.files import check_header
from tightrope.fuzzing.fitness import Fitness
from tightrope.fuzzing.perturbation import Perturbation, Script, perturbation_from_json
from tightrope.fuzzing.population import Member
from tightrope.outcome import Outcome, StopReason
from tightrope.svg import Line, lines_svg
from tightrope.trace import ActionTrace
from tightrope.tracefiles import trace_from_json

FORMAT, VERSION = "tightrope/fuzzing", 1


@dataclass(frozen=True, kw_only=True)
class Individual:
    """One trace, what it earned and how it ended."""

    generation: int
    """0 is an ancestor."""
    trace: ActionTrace
    """What was played, cut where the episode ended."""
    total_return: float
    outcome: Outcome
    fitness: Fitness
    perturbations: tuple[Perturbation, ...] = ()
    """Policy-level fuzzing: where the agent was disturbed."""

    def __repr__(self) -> str:
        return (
            f"Individual(generation {self.generation}, {len(self.trace)} actions, return {self.total_return:g}, "
            f"{self.outcome}, fitness {self.fitness.value:.3f})"
        )


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The best, the mean and the standard deviation of one number over a generation."""

    best: float
    mean: float
    spread: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of values of which the largest is the best."""
        return cls(best=max(values), mean=fmean(values), spread=pstdev(values))


@dataclass(frozen=True, kw_only=True)
class Generation:
    """One generation in numbers."""

    index: int
    """1 is the first bred from the ancestors."""
    size: int
    terms: Mapping[str, Spread] = field(repr=False)
    """``fitness``, its normalised terms ``coverage``, ``positive``, ``negative``, the same raw (``new_keys``,
    ``positive_reward``, ``negative_reward``), and ``total_return``."""
    covered: int
    """State keys seen by this and all earlier generations."""
    goals: int
    """Individuals that reached the goal."""
    unsafe: int
    """Individuals that ended unsafe."""
    failures: int
    """Distinct unsafe ends (by state key) in this and all earlier generations."""
    steps: int
    """Steps played by this generation."""
    errors: int = 0
    """Individuals whose execution raised."""


@dataclass(frozen=True, kw_only=True)
class Control:
    """As many random traces, of the same lengths: what fuzzing must beat."""

    traces: int
    steps: int
    """Steps played: fewer than planned, since random traces end early."""
    covered: int
    covered_by_generation: tuple[int, ...]
    best_return: float
    goals: int
    unsafe: int
    failures: int
    """Distinct unsafe ends, by state key."""


FuzzLevel: TypeAlias = Literal["traces", "policy"]


@dataclass(frozen=True, kw_only=True, repr=False)
class FuzzResult(Shown):
    """The fittest individual of each generation, and how the generations went."""

    _shown = ("task", "level", "agent", "generations", "covered", "best_return", "goals", "failures", "stop_reason")

    task: str
    level: FuzzLevel
    """``traces``, or ``policy`` for perturbations of an agent."""
    agent: str | None = None
    settings: Mapping[str, Any] = field(repr=False)
    """The arguments of the call, as plain values."""
    ancestors: tuple[Individual, ...] = field(repr=False)
    individuals: tuple[Individual, ...] = field(repr=False)
    """The fittest of each generation, in order."""
    generations: tuple[Generation, ...] = field(repr=False)
    covered: int
    """Number of state keys seen."""
    control: Control | None
    """None when it was not asked for, or fuzzing was cancelled before it."""
    stop_reason: StopReason

    def _chart_svg(self) -> str:
        """The state keys that were covered, generation by generation, against random traces."""
        counts = [("fuzzing", [generation.covered for generation in self.generations])]
        counts += [] if self.control is None else [("random traces", [*self.control.covered_by_generation])]
        lines = [Line(label=label, points=list(enumerate(covered, 1))) for label, covered in counts]
        return lines_svg(lines, f"state keys covered on {self.task}", "state keys covered, generation")

    @property
    def fittest(self) -> tuple[ActionTrace, ...]:
        """The fittest trace of each generation, in order."""
        return tuple(individual.trace for individual in self.individuals)

    @property
    def best_return(self) -> float | None:
        """The largest return of any individual bred; None when there was none."""
        return max((generation.terms["total_return"].best for generation in self.generations), default=None)

    @property
    def goals(self) -> int:
        """Individuals that reached the goal."""
        return sum(generation.goals for generation in self.generations)

    @property
    def failures(self) -> int:
        """Distinct unsafe ends, by state key."""
        return self.generations[-1].failures if self.generations else 0

    @property
    def steps(self) -> int:
        """Steps played by all generations, ancestors not counted."""
        return sum(generation.steps for generation in self.generations)

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FuzzResult:
        """The result that ``to_json`` described."""
        check_header("the result of fuzzing", data, FORMAT, VERSION)
        control = data["control"]
        result = cls(
            task=data["task"],
            level=data["level"],
            agent=data["agent"],
            settings=dict(data["settings"]),
            ancestors=tuple(map(_individual, data["ancestors"])),
            individuals=tuple(map(_individual, data["individuals"])),
            generations=tuple(map(_generation, data["generations"])),
            covered=data["covered"],
            control=control and Control(**_tupled(control, "covered_by_generation")),
            stop_reason=StopReason(data["stop_reason"]),
        )
        result._require_whole()
        return result

    def _require_whole(self) -> None:
        """Refuse parts that do not belong together: each generation has its best, its terms and its control."""
        known = [len(self.individuals), *([len(self.control.covered_by_generation)] if self.control else [])]
        whole = all("total_return" in generation.terms for generation in self.generations)
        if not whole or set(known) != {len(self.generations)}:
            raise ValueError("its generations, their best traces and their control do not match")
        weights, population = self.settings.get("weights", (1.0,) * 3), self.settings.get("population", 0)
        if len(list(map(float, weights))) != 3 or type(population) is not int:
            raise ValueError(f"its settings say weights {weights!r:.60} and population {population!r:.60}")


def individual(member: Member[Any], generation: int) -> Individual:
    """A population's member as part of a result."""
    played = member.played
    return Individual(
        generation=generation,
        trace=played.trace,
        total_return=played.total_return,
        outcome=played.outcome,
        fitness=member.fitness,
        perturbations=member.genome.perturbations if isinstance(member.genome, Script) else (),
    )


def summarise(members: Sequence[Member[Any]], index: int, covered: int, failures: int) -> Generation:
    """One generation in numbers."""
    outcomes = [member.played.outcome for member in members]
    return Generation(
        index=index,
        size=len(members),
        terms=_terms(members),
        covered=covered,
        goals=outcomes.count(Outcome.GOAL),
        unsafe=outcomes.count(Outcome.UNSAFE),
        failures=failures,
        steps=sum(member.played.steps for member in members),
        errors=sum(member.played.error is not None for member in members),
    )


def _terms(members: Sequence[Member[Any]]) -> dict[str, Spread]:
    columns = {
        "fitness": [member.fitness.value for member in members],
        "total_return": [member.played.total_return for member in members],
    }
    for name in ("coverage", "positive", "negative", "new_keys", "positive_reward", "negative_reward"):
        columns[name] = [float(getattr(member.fitness, name)) for member in members]
    return {name: Spread.of(values) for name, values in columns.items()}


def _individual(data: Mapping[str, Any]) -> Individual:
    return Individual(
        generation=data["generation"],
        trace=trace_from_json(data["trace"]),
        total_return=data["total_return"],
        outcome=Outcome(data["outcome"]),
        fitness=Fitness(**data["fitness"]),
        perturbations=tuple(map(perturbation_from_json, data["perturbations"])),
    )


def _generation(data: Mapping[str, Any]) -> Generation:
    return Generation(**{**data, "terms": {name: Spread(**spread) for name, spread in data["terms"].items()}})


def _tupled(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**data, name: tuple(data[name])}
