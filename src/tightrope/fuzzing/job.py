"""What was asked of one fuzzing, and how it is carried out, whatever is bred."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tightrope.budget import Budget
from tightrope.fuzzing.breeding import Bred, breed
from tightrope.fuzzing.control import run_control
from tightrope.fuzzing.fitness import Played
from tightrope.fuzzing.playing import TracePlayer
from tightrope.fuzzing.population import Operators, Population
from tightrope.fuzzing.results import Control, FuzzLevel, FuzzResult
from tightrope.progress import ProgressCallback
from tightrope.settings import BREEDING_STEPS, BREEDING_STEPS_BY_REPLAY, Count, FuzzingConfig, require
from tightrope.simulation import conformance_of
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.tasks.task import Task
from tightrope.trace import Action

Genome = TypeVar("Genome")
OF_TRACES = ("independent_actions", "append_only_unfinished")
"""Settings that mean nothing where no traces are bred."""


@dataclass(frozen=True, kw_only=True)
class FuzzJob:
    """One call of ``fuzz`` or ``fuzz_policy``."""

    task: Task
    level: FuzzLevel
    """What is bred: traces, or scripts for an agent's policy."""
    agent: str | None = None
    how: FuzzingConfig
    seed: int
    budget: Budget | None
    actions: Sequence[Action] | None
    max_length: int | None
    control: bool
    on_progress: ProgressCallback | None

    def __post_init__(self) -> None:
        require("max_length", self.max_length, Count | None, "; leave it out for no limit")

    def population(self, ancestors: Sequence[Genome], operators: Operators[Genome]) -> Population[Genome]:
        """The population to breed from."""
        return Population(
            ancestors,
            operators,
            size=self.how.population,
            crossover=self.how.crossover,
            weights=self.how.weights,
            truncation=self.how.truncation,
            seed=self.seed,
        )

    def result(
        self,
        breeder: Population[Genome],
        evaluate: Callable[[Sequence[Genome]], list[Played]],
        traces: TracePlayer,
    ) -> FuzzResult:
        """Breed, run the control, and say what came of it."""
        told = self.on_progress
        bred = breed(breeder, evaluate, generations=self.how.generations, budget=self.budget, on_progress=told)
        matched = None
        if self.control:
            size, independent = self.how.mutation_size, self.how.independent_actions
            matched = run_control(bred, traces, size=size, independent=independent, seed=self.seed, on_progress=told)
        return self.result_of(bred, matched)

    def result_of(self, bred: Bred, control: Control | None = None) -> FuzzResult:
        """What was bred, as a result."""
        return FuzzResult(
            task=self.task.label,
            level=self.level,
            agent=self.agent,
            settings=self.settings,
            ancestors=bred.ancestors,
            individuals=tuple(bred.individuals),
            generations=tuple(bred.generations),
            covered=bred.covered,
            control=control,
            stop_reason=bred.stop_reason,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """How it was asked for, in plain values."""
        how = self.how.how()
        for name in ("steps", *(OF_TRACES if self.agent is not None else ())):
            del how[name]
        return {
            **how,
            "weights": list(self.how.weights),
            "seed": self.seed,
            "actions": None if self.actions is None else list(self.actions),
            "max_length": self.max_length,
        }


def breeding_budget(task: Task, steps: int | None) -> Budget:
    """What breeding may cost in a campaign; ``steps``: None where nobody says."""
    replayed = conformance_of(task).method == REPLAY
    return Budget(steps=steps or (BREEDING_STEPS_BY_REPLAY if replayed else BREEDING_STEPS))
