"""Simple performance: the agent and the traces, each from reset."""

from __future__ import annotations

from collections.abc import Sequence

from tightrope.agents.agent import Agent
from tightrope.execution import Engine, Episode, Rollout, begun_again_if_stochastic, borrowed_engine
from tightrope.performance.play import ComparisonPlan, check_call, prefix_test, run_distinct
from tightrope.performance.reach import Reach
from tightrope.performance.results import Comparison, PrefixTest
from tightrope.settings import LIBRARY_BACKEND, BackendName, PerformanceConfig
from tightrope.statistics import (
    IN_GENERAL,
    ON_THESE_CASES,
    Estimate,
    difference_estimate,
    general_estimate,
    iqm_estimate,
    mean_estimate,
    rate_estimate,
)
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace


@begun_again_if_stochastic
def compare_performance(
    task: Task,
    agent: Agent,
    traces: Sequence[ActionTrace],
    episodes: int = PerformanceConfig.episodes,
    *,
    length: int | None = None,
    seed: int = 0,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
) -> Comparison:
    """The agent's mean return from reset against that of the traces.

    Args:
        task: The task to be solved.
        agent: The agent to compare.
        traces: The traces to compare it with.
        episodes: How often each is executed.
        length: Longest episode of the agent; None: until the environment ends it.
        seed: Determines everything random.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
    """
    traces = check_call(task, traces, episodes=episodes)
    with borrowed_engine(task, {agent.name: agent}, engine, backend, workers) as engine:
        plan = ComparisonPlan.of(engine, agent, episodes, length, seed)
        tests = simple_tests(plan, traces, run_distinct(engine, simple_rollouts(plan, traces)))
    resets = resets_of(traces, tests)
    reach = Reach.of({0: tests}, resets, traces_deterministic=plan.traces_deterministic)
    return simple_comparison(plan, tests, resets, reach)


def simple_rollouts(plan: ComparisonPlan, traces: Sequence[ActionTrace]) -> list[Rollout]:
    """All executions of the simple comparison."""
    return [rollout for trace in traces for rollout in (*plan.agent_from_reset(trace), *plan.from_reset(trace))]


def simple_tests(
    plan: ComparisonPlan, traces: Sequence[ActionTrace], episodes: dict[str, Episode]
) -> tuple[PrefixTest, ...]:
    """One test per trace; those with the same reset seed share the agent's episodes."""
    return tuple(
        prefix_test(
            trace,
            [episodes[rollout.id] for rollout in plan.agent_from_reset(trace)],
            [episodes[rollout.id] for rollout in plan.from_reset(trace)],
        )
        for trace in traces
    )


def resets_of(traces: Sequence[ActionTrace], tests: Sequence[PrefixTest]) -> list[PrefixTest]:
    """One test for each reset seed: the agent's episodes are those of each, counted once."""
    return list({trace.seed: test for trace, test in zip(traces, tests, strict=True)}.values())


def simple_comparison(
    plan: ComparisonPlan, tests: tuple[PrefixTest, ...], resets: Sequence[PrefixTest], reach: Reach
) -> Comparison:
    """The comparison at prefix length 0."""
    agent_returns = [value for test in resets for value in test.agent_returns]
    trace_means = [test.trace_mean for test in tests if test.trace_mean is not None]
    certain = plan.agent_deterministic and len(resets) == 1
    question = ON_THESE_CASES if len(resets) == 1 else IN_GENERAL
    return Comparison(
        prefix_length=0,
        agent=mean_estimate(agent_returns, bounds=reach.agent, deterministic=certain).answering(question),
        traces=mean_estimate(trace_means, bounds=reach.traces).answering(IN_GENERAL),
        difference=_difference(agent_returns, trace_means, reach, certain).answering(IN_GENERAL),
        agent_iqm=iqm_estimate([agent_returns], deterministic=certain).answering(question),
        traces_iqm=iqm_estimate([trace_means]).answering(IN_GENERAL),
        agent_goal_share=_agent_goal_share(resets, certain).answering(question),
        traces_goal_share=goal_share([(test.trace_goals, len(test.trace_returns)) for test in tests], "trace"),
        agent_deterministic=plan.agent_deterministic,
        traces_deterministic=plan.traces_deterministic,
        tests=tests,
    )


def _difference(agent_returns: Sequence[float], trace_means: Sequence[float], reach: Reach, certain: bool) -> Estimate:
    """Agent minus traces. A return that cannot differ only shifts the traces' interval."""
    if not certain or not agent_returns:
        return difference_estimate(agent_returns, trace_means, bounds=(reach.agent, reach.traces))
    earned = agent_returns[0]
    known = reach.traces
    bounds = (earned - known[1], earned - known[0]) if isinstance(known, tuple) else known
    return mean_estimate([earned - mean for mean in trace_means], bounds=bounds)


def _agent_goal_share(resets: Sequence[PrefixTest], certain: bool) -> Estimate:
    hits = sum(test.agent_goals for test in resets)
    return rate_estimate(hits, sum(len(test.agent_returns) for test in resets), deterministic=certain)


def goal_share(counts: Sequence[tuple[int, int]], unit: str) -> Estimate:
    """The mean over situations of the share of (goals, episodes)."""
    return general_estimate([goals / episodes for goals, episodes in counts if episodes], unit=unit)
