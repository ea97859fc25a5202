"""Fuzzing on the level of the policy: perturbations of what the agent does by itself (future work in the paper)."""

from __future__ import annotations

from collections.abc import Sequence

from tightrope.agents.agent import Agent
from tightrope.budget import Budget
from tightrope.execution import Engine, begun_again_if_stochastic, borrowed_engine
from tightrope.fuzzing.actions import action_source
from tightrope.fuzzing.job import FuzzJob
from tightrope.fuzzing.perturbation import Script, ScriptOperators
from tightrope.fuzzing.playing import TracePlayer
from tightrope.fuzzing.results import FuzzResult
from tightrope.fuzzing.scripts import ScriptPlayer, cast
from tightrope.progress import ProgressCallback
from tightrope.settings import LIBRARY_BACKEND, BackendName, FuzzingConfig
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace


@begun_again_if_stochastic
def fuzz_policy(
    task: Task,
    agent: Agent,
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
    truncation: float | None = FuzzingConfig.truncation,
    max_length: int | None = None,
    control: bool = True,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> FuzzResult:
    """Breed perturbations of the agent's own behaviour, so that the traces stay near what it really does.

    The ancestor is the undisturbed agent. Mutation inserts, removes, changes and moves perturbations; fitness,
    selection and the result are those of ``fuzz``.

    Args:
        task: The task to be solved.
        agent: Whose behaviour is disturbed.
        generations: How many generations to breed after the ancestors.
        population: How many offspring a generation has.
        mutation_stop: Probability that a mutation stops after each of its operations; the smaller, the larger the
            change.
        mutation_size: Longest perturbation, in steps.
        crossover: Probability that offspring comes from two parents instead of being a mutation of one.
        weights: How much new state keys, positive and negative rewards count in the fitness.
        seed: Determines everything random.
        budget: Bounds the breeding; it is looked at after each generation.
        actions: What a perturbation may force on the agent; default: the task's search actions, or the whole space
            where actions are continuous.
        truncation: Only this best share of a generation may be parents; None: all.
        max_length: Longest episode; None: until it ends.
        control: Whether to run as many random traces for comparison, at most as many steps again.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    how = FuzzingConfig(
        generations=generations,
        population=population,
        mutation_stop=mutation_stop,
        mutation_size=mutation_size,
        crossover=crossover,
        weights=weights,
        truncation=truncation,
    )
    job = FuzzJob(
        task=task,
        level="policy",
        agent=agent.name,
        how=how,
        seed=seed,
        budget=budget,
        actions=actions,
        max_length=max_length,
        control=control,
        on_progress=on_progress,
    )
    source = action_source(task, actions)
    operators = ScriptOperators(source=source, size=how.mutation_size, stop=how.mutation_stop)
    breeder = job.population([Script()], operators)
    with borrowed_engine(task, cast(agent, source), engine, backend, workers) as engine:
        traces = TracePlayer(engine, source, seed)
        evaluate = ScriptPlayer(traces, ActionTrace(task.label, task.seed), agent, max_length)
        return job.result(breeder, evaluate, traces)
