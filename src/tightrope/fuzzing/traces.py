"""Fuzzing on the level of action traces, as the paper does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tightrope.budget import Budget
from tightrope.errors import UsageError
from tightrope.execution import Engine, begun_again_if_stochastic, borrowed_engine
from tightrope.fuzzing.actions import ActionSource, action_source
from tightrope.fuzzing.breeding import breed_together
from tightrope.fuzzing.fitness import Played
from tightrope.fuzzing.job import FuzzJob
from tightrope.fuzzing.mutation import OPERATORS, cross, mutate
from tightrope.fuzzing.playing import Together, TracePlayer
from tightrope.fuzzing.population import Member
from tightrope.fuzzing.results import FuzzResult
from tightrope.progress import ProgressCallback
from tightrope.settings import LIBRARY_BACKEND, BackendName, FuzzingConfig
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace


@dataclass(frozen=True, kw_only=True)
class TraceOperators:
    """Mutation and crossover of action traces, with the options that depart from the paper."""

    source: ActionSource
    size: int = FuzzingConfig.mutation_size
    stop: float = FuzzingConfig.mutation_stop
    independent: bool = FuzzingConfig.independent_actions
    append_only_unfinished: bool = FuzzingConfig.append_only_unfinished
    max_length: int | None = None

    @classmethod
    def asked_for(cls, how: FuzzingConfig, source: ActionSource, max_length: int | None) -> TraceOperators:
        """Those that the settings ask for."""
        return cls(
            source=source,
            size=how.mutation_size,
            stop=how.mutation_stop,
            independent=how.independent_actions,
            append_only_unfinished=how.append_only_unfinished,
            max_length=max_length,
        )

    def mutate(self, parent: Member[ActionTrace], rng: np.random.Generator) -> ActionTrace:
        """The parent's actions, mutated."""
        finished = parent.played.outcome.terminal
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

    def cut(self, genome: ActionTrace, played: Played) -> ActionTrace:
        """The actions that were played before the episode ended."""
        return _from_reset(genome, played.trace.actions or genome.actions[:1])


@begun_again_if_stochastic
def fuzz(
    task: Task,
    ancestors: ActionTrace | Sequence[ActionTrace],
    generations: int = FuzzingConfig.generations,
    population: int = FuzzingConfig.population,
    mutation_stop: float = FuzzingConfig.mutation_stop,
    mutation_size: int = FuzzingConfig.mutation_size,
    crossover: float = FuzzingConfig.crossover,
    weights: tuple[float, float, float] = FuzzingConfig.weights,
    seed: int = 0,
    budget: Budget | None = None,
    *,
    actions: Sequence[Action] | None = None,
    independent_actions: bool = FuzzingConfig.independent_actions,
    append_only_unfinished: bool = FuzzingConfig.append_only_unfinished,
    truncation: float | None = FuzzingConfig.truncation,
    max_length: int | None = None,
    control: bool = True,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> FuzzResult:
    """Breed traces that go where no earlier one went and still earn much.

    The defaults are the paper's; what departs from it is off by default.

    Args:
        task: The task to be solved.
        ancestors: One or more traces to begin with.
        generations: How many generations to breed after the ancestors.
        population: How many offspring a generation has.
        mutation_stop: Probability that a mutation stops after each of its operations; the smaller, the larger the
            change.
        mutation_size: Longest run of actions that one operation inserts, removes, changes or appends.
        crossover: Probability that offspring comes from two parents instead of being a mutation of one.
        weights: How much new state keys, positive and negative rewards count in the fitness.
        seed: Determines everything random.
        budget: Bounds the breeding; it is looked at after each generation.
        actions: What to draw from; default: the task's search actions, or the whole space where actions are continuous.
        independent_actions: Departs from the paper: each action of a new run is drawn by itself, instead of one being
            held.
        append_only_unfinished: Departs from the paper: nothing is appended to a trace whose episode was over.
        truncation: Departs from the paper: only this best share of a generation may be parents.
        max_length: Departs from the paper: longest trace to breed; None: no limit.
        control: Whether to run as many random traces for comparison, at most as many steps again.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    given = (ancestors,) if isinstance(ancestors, ActionTrace) else tuple(ancestors)
    how = FuzzingConfig(
        generations=generations,
        population=population,
        mutation_stop=mutation_stop,
        mutation_size=mutation_size,
        crossover=crossover,
        weights=weights,
        truncation=truncation,
        independent_actions=independent_actions,
        append_only_unfinished=append_only_unfinished,
    )
    job = FuzzJob(
        task=task,
        level="traces",
        how=how,
        seed=seed,
        budget=budget,
        actions=actions,
        max_length=max_length,
        control=control,
        on_progress=on_progress,
    )
    _check_ancestors(task, given)
    source = action_source(task, actions)
    operators = TraceOperators.asked_for(how, source, max_length)
    breeder = job.population([_from_reset(trace, trace.actions) for trace in given], operators)
    with borrowed_engine(task, None, engine, backend, workers) as engine:
        evaluate = TracePlayer(engine, source, seed)
        return job.result(breeder, evaluate, evaluate)


@begun_again_if_stochastic
def fuzz_again(
    task: Task,
    result: FuzzResult,
    seeds: Sequence[int],
    *,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> tuple[FuzzResult, ...]:
    """The same fuzzing with other seeds, to see how much of what it found is luck; there is no control.

    Each result is what ``fuzz`` finds with that seed from the same ancestors, as they were played. All are bred side by
    side: a generation lasts as long as its longest trace, and workers that would wait for that play traces of others.

    Args:
        task: The task that was fuzzed.
        result: What ``fuzz`` found; its settings and ancestors are taken.
        seeds: One for each result.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    if result.agent is not None:
        raise UsageError(f"only traces are fuzzed again; this result is of {result.agent}'s policy: call fuzz_policy")
    if not seeds:
        return ()
    jobs = [_job_again(task, result, seed) for seed in seeds]
    ancestors = [_from_reset(ancestor.trace, ancestor.trace.actions) for ancestor in result.ancestors]
    _check_ancestors(task, ancestors)
    source = action_source(task, jobs[0].actions)
    operators = TraceOperators.asked_for(jobs[0].how, source, jobs[0].max_length)
    with borrowed_engine(task, None, engine, backend, workers) as engine:
        breds = breed_together(
            [job.population(ancestors, operators) for job in jobs],
            Together([TracePlayer(engine, source, seed) for seed in seeds]),
            generations=jobs[0].how.generations,
            budget=None,
            on_progress=on_progress,
        )
    return tuple(job.result_of(bred) for job, bred in zip(jobs, breds, strict=True))


def _job_again(task: Task, result: FuzzResult, seed: int) -> FuzzJob:
    """What was asked of a fuzzing, with another seed."""
    asked = {name: value for name, value in result.settings.items() if name not in ("seed", "actions", "max_length")}
    return FuzzJob(
        task=task,
        level=result.level,
        how=FuzzingConfig(**{**asked, "weights": tuple(asked["weights"])}),
        seed=seed,
        budget=None,
        actions=result.settings["actions"],
        max_length=result.settings["max_length"],
        control=False,
        on_progress=None,
    )


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
