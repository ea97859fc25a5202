"""Fuzzing on the level of action traces, as the paper does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.budget import Budget
from tightrope.errors import UsageError
from tightrope.execution import Engine, begun_again_if_stochastic, borrowed_engine
from tightrope.fuzzing.actions import ActionSource, action_source
from tightrope.fuzzing.breeding import Bred, breed
from tightrope.fuzzing.control import run_control
from tightrope.fuzzing.evaluation import TraceEvaluator
from tightrope.fuzzing.fitness import Evaluation
from tightrope.fuzzing.mutation import OPERATORS, cross, mutate
from tightrope.fuzzing.population import PAPER_WEIGHTS, Member, Population
from tightrope.fuzzing.results import Control, FuzzResult
from tightrope.progress import ProgressCallback
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace


@dataclass(frozen=True, kw_only=True)
class TraceOperators:
    """Mutation and crossover of action traces, with the options that depart from the paper."""

    source: ActionSource
    size: int = 15
    stop: float = 0.2
    independent: bool = False
    append_only_unfinished: bool = False
    max_length: int | None = None

    def mutate(self, parent: Member[ActionTrace], rng: np.random.Generator) -> ActionTrace:
        """The parent's actions, mutated."""
        finished = parent.evaluation.outcome.terminal
        operators = OPERATORS[:-1] if finished and self.append_only_unfinished else OPERATORS
        actions = mutate(
            parent.genome.actions,
            self.source,
            rng,
            size=self.size,
            stop=self.stop,
            independent=self.independent,
            operators=operators,
        )
        return _from_reset(parent.genome, actions[: self.max_length])

    def cross(
        self, first: Member[ActionTrace], second: Member[ActionTrace], rng: np.random.Generator
    ) -> ActionTrace | None:
        """The first parent's beginning and the second's end."""
        actions = cross(first.genome.actions, second.genome.actions, rng)
        return None if actions is None else _from_reset(first.genome, actions[: self.max_length])

    def cut(self, genome: ActionTrace, evaluation: Evaluation) -> ActionTrace:
        """The actions that were played before the episode ended."""
        return _from_reset(genome, evaluation.trace.actions or genome.actions[:1])


@begun_again_if_stochastic
def fuzz(
    task: Task,
    ancestors: ActionTrace | Sequence[ActionTrace],
    generations: int = 50,
    population: int = 50,
    mutation_stop: float = 0.2,
    mutation_size: int = 15,
    crossover: float = 0.25,
    weights: tuple[float, float, float] = PAPER_WEIGHTS,
    seed: int = 0,
    budget: Budget | None = None,
    *,
    actions: Sequence[Action] | None = None,
    independent_actions: bool = False,
    append_only_unfinished: bool = False,
    truncation: float | None = None,
    max_length: int | None = None,
    control: bool = True,
    engine: Engine | None = None,
    backend: str = "inline",
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> FuzzResult:
    """Breed traces that go where no earlier one went and still earn much.

    The defaults are the paper's; what departs from it is off by default.

    Args:
        task: What is to be solved.
        ancestors: One or more traces to begin with.
        generations: How many generations to breed after the ancestors.
        population: How many offspring a generation has.
        mutation_stop: Probability that a mutation stops after each of its operations; the smaller, the larger the
            change.
        mutation_size: Longest run of actions that one operation inserts, removes, changes or appends.
        crossover: Probability that offspring comes from two parents instead of being a mutation of one.
        weights: Of new state keys, positive and negative rewards in the fitness.
        seed: All randomness follows from it.
        budget: Bounds the breeding; it is looked at after each generation.
        actions: What to draw from; default: the task's search actions, or the whole space where actions are continuous.
        independent_actions: Departs from the paper: each action of a new run is drawn by itself, instead of one being
            held.
        append_only_unfinished: Departs from the paper: nothing is appended to a trace whose episode was over.
        truncation: Departs from the paper: only this best share of a generation may be parents.
        max_length: Departs from the paper: longest trace to breed; None: no limit.
        control: Whether to run as many random traces for comparison, at most as many steps again.
        engine: Where to run; default: one made for the occasion.
        backend: Of an engine made for the occasion: inline, processes or ray.
        workers: Of an engine made for the occasion; default: one for each core.
        on_progress: Told how far the work has come.
    """
    given = (ancestors,) if isinstance(ancestors, ActionTrace) else tuple(ancestors)
    check_settings(mutation_stop, mutation_size, max_length)
    _check_ancestors(task, given)
    source = action_source(task, actions)
    operators = TraceOperators(
        source=source,
        size=mutation_size,
        stop=mutation_stop,
        independent=independent_actions,
        append_only_unfinished=append_only_unfinished,
        max_length=max_length,
    )
    breeder = Population(
        [_from_reset(trace, trace.actions) for trace in given],
        operators,
        size=population,
        crossover=crossover,
        weights=weights,
        truncation=truncation,
        seed=seed,
    )
    with borrowed_engine(task, None, engine, backend, workers) as engine:
        evaluate = TraceEvaluator(engine, source, seed)
        bred = breed(breeder, evaluate, generations=generations, budget=budget, on_progress=on_progress)
        matched = None
        if control:
            matched = run_control(
                bred,
                evaluate,
                size=mutation_size,
                independent=independent_actions,
                seed=seed,
                on_progress=on_progress,
            )
    settings = {
        "generations": generations, "population": population, "mutation_stop": mutation_stop,
        "mutation_size": mutation_size, "crossover": crossover, "weights": list(weights), "seed": seed,
        "actions": None if actions is None else list(actions), "independent_actions": independent_actions,
        "append_only_unfinished": append_only_unfinished, "truncation": truncation, "max_length": max_length,
    }  # fmt: skip
    return fuzz_result(task, bred, matched, level="traces", settings=settings)


def fuzz_result(
    task: Task, bred: Bred, control: Control | None, *, level: str, settings: dict[str, Any], agent: str | None = None
) -> FuzzResult:
    """What the loop gathered, as the result."""
    return FuzzResult(
        task=task.label,
        level=level,
        agent=agent,
        settings=settings,
        ancestors=bred.ancestors,
        individuals=tuple(bred.individuals),
        generations=tuple(bred.generations),
        covered=bred.covered,
        control=control,
        stop_reason=bred.stop_reason,
    )


def check_settings(mutation_stop: float, mutation_size: int, max_length: int | None) -> None:
    """The rules for the settings of mutation."""
    if not 0 < mutation_stop <= 1:
        raise UsageError(
            f"mutation_stop is a probability above 0 and at most 1, not {mutation_stop}; at 0 mutation would never stop"
        )
    if mutation_size < 1:
        raise UsageError(f"mutation_size, the longest run of a mutation, must be 1 or more, not {mutation_size}")
    if max_length is not None and max_length < 1:
        raise UsageError(f"max_length must be 1 or more, not {max_length}; leave it out for no limit")


def _check_ancestors(task: Task, ancestors: Sequence[ActionTrace]) -> None:
    for trace in ancestors:
        if not isinstance(trace, ActionTrace):
            raise UsageError(
                f"an ancestor is an action trace (reference.actions, or a demonstration), not {type(trace).__name__}"
            )
        if trace.task != task.label:
            raise UsageError(f"an ancestor is of task {trace.task!r} and cannot be fuzzed on {task.label!r}")
        if not trace.actions:
            raise UsageError("an ancestor has no actions; give a trace with at least one, such as reference.actions")


def _from_reset(like: ActionTrace, actions: tuple[Action, ...]) -> ActionTrace:
    """Actions after the same reset; how randomness came out in an earlier execution does not carry over."""
    return ActionTrace(like.task, like.seed, actions)
