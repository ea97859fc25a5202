"""Robust performance: the agent put into the middle of the traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tightrope.agents.agent import Agent
from tightrope.execution import Engine, Episode, Rollout, begun_again_if_stochastic, borrowed_engine
from tightrope.performance.play import ComparisonPlan, check_call, prefix_test, run_distinct
from tightrope.performance.reach import Reach
from tightrope.performance.results import Comparison, PrefixTest, Robustness
from tightrope.performance.simple import goal_share, resets_of, simple_comparison, simple_rollouts, simple_tests
from tightrope.progress import Progress, ProgressCallback
from tightrope.seeding import generator
from tightrope.settings import LIBRARY_BACKEND, BackendName, PerformanceConfig
from tightrope.statistics import IN_GENERAL, Estimate, iqm_estimate, mean_estimate, paired_difference_estimate
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace


@begun_again_if_stochastic
def compare_robustness(
    task: Task,
    agent: Agent,
    traces: Sequence[ActionTrace],
    tests: int = PerformanceConfig.tests,
    episodes: int = PerformanceConfig.episodes,
    step_width: int = PerformanceConfig.step_width,
    seed: int = 0,
    *,
    length: int | None = None,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> Robustness:
    """The agent against the rest of the trace, from prefixes of length 0, one step width, two step widths, …

    The lengths end where fewer than ``tests`` traces are long enough. The reward of the prefix counts for both. Length
    0 is ``compare_performance``. The draws depend on nothing but ``seed`` and the traces, so several agents meet the
    same situations.

    Args:
        task: The task to be solved.
        agent: The agent to compare.
        traces: The traces to compare it with.
        tests: How many traces are drawn at each length, with replacement, among those that are long enough.
        episodes: How often the trace and the agent each go on from a prefix.
        step_width: From one prefix length to the next.
        seed: Determines everything random.
        length: Longest episode of the agent; None: until the environment ends it.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    traces = check_call(task, traces, tests=tests, episodes=episodes, step_width=step_width)
    with borrowed_engine(task, {agent.name: agent}, engine, backend, workers) as engine:
        plan = ComparisonPlan.of(engine, agent, episodes, length, seed)
        draws = draw_traces(traces, tests, step_width, seed)
        points = _play(engine, plan, traces, draws, on_progress)
    settings = {
        "tests": tests, "episodes": episodes, "step_width": step_width, "seed": seed, "length": length,
        "traces": len(traces),
    }  # fmt: skip
    return _robustness(task, agent, settings, points)


def expect_comparison(
    engine: Engine, agent: Agent, trace: ActionTrace, episodes: int = PerformanceConfig.episodes, seed: int = 0
) -> None:
    """What a later comparison will ask of the agent whatever its traces are, as long as they begin as this one does."""
    engine.expect(ComparisonPlan.of(engine, agent, episodes, None, seed).agent_from_reset(trace))


@dataclass(frozen=True)
class Drawn:
    """The traces drawn for one prefix length."""

    prefix_length: int
    traces: tuple[ActionTrace, ...]


def draw_traces(traces: Sequence[ActionTrace], tests: int, step_width: int, seed: int) -> list[Drawn]:
    """For each prefix length the traces to test with; ends where too few are long enough."""
    drawn: list[Drawn] = []
    while True:
        prefix_length = step_width * (len(drawn) + 1)
        long_enough = [trace for trace in traces if len(trace) >= prefix_length]
        if len(long_enough) < tests:
            return drawn
        picks = generator("robust", seed, prefix_length).integers(len(long_enough), size=tests)
        drawn.append(Drawn(prefix_length, tuple(long_enough[pick] for pick in picks)))


def _play(
    engine: Engine,
    plan: ComparisonPlan,
    traces: Sequence[ActionTrace],
    draws: Sequence[Drawn],
    on_progress: ProgressCallback | None,
) -> tuple[Comparison, ...]:
    """All prefix lengths in one go, so that the agent is asked for as many situations at once as there are."""
    work = {0: simple_rollouts(plan, traces)}
    for drawn in draws:
        work[drawn.prefix_length] = _rollouts(plan, drawn)
    rollouts = [rollout for part in work.values() for rollout in part]
    episodes = run_distinct(engine, rollouts, _countdown(work, on_progress))
    tests = {0: simple_tests(plan, traces, episodes)}
    for drawn in draws:
        tests[drawn.prefix_length] = _tests(plan, drawn, episodes)
    resets = resets_of(traces, tests[0])
    reach = Reach.of(tests, resets, traces_deterministic=plan.traces_deterministic)
    points = [_point(plan, drawn.prefix_length, tests[drawn.prefix_length], reach) for drawn in draws]
    return (simple_comparison(plan, tests[0], resets, reach), *points)


def _rollouts(plan: ComparisonPlan, drawn: Drawn) -> list[Rollout]:
    return [
        rollout
        for draw, trace in enumerate(drawn.traces)
        for make in (plan.agent_after, plan.suffix)
        for rollout in make(trace, drawn.prefix_length, draw)
    ]


def _tests(plan: ComparisonPlan, drawn: Drawn, episodes: dict[str, Episode]) -> tuple[PrefixTest, ...]:
    length = drawn.prefix_length
    return tuple(
        prefix_test(
            trace,
            [episodes[rollout.id] for rollout in plan.agent_after(trace, length, draw)],
            [episodes[rollout.id] for rollout in plan.suffix(trace, length, draw)],
        )
        for draw, trace in enumerate(drawn.traces)
    )


def _point(plan: ComparisonPlan, length: int, tests: tuple[PrefixTest, ...], reach: Reach) -> Comparison:
    pairs = [(test.agent_mean, test.trace_mean) for test in tests]
    both = [(agent, trace) for agent, trace in pairs if agent is not None and trace is not None]
    asked = [test for test in tests if not test.ended]
    # The tests are the sample: the episodes of one test share its prefix.
    of_agent = [agent for agent, _ in pairs if agent is not None]
    of_traces = [trace for _, trace in pairs if trace is not None]
    return Comparison(
        prefix_length=length,
        agent=mean_estimate(of_agent, bounds=reach.agent).answering(IN_GENERAL),
        traces=mean_estimate(of_traces, bounds=reach.traces).answering(IN_GENERAL),
        difference=paired_difference_estimate(
            [agent for agent, _ in both], [trace for _, trace in both], bounds=reach.difference
        ).answering(IN_GENERAL),
        agent_iqm=iqm_estimate([of_agent]).answering(IN_GENERAL),
        traces_iqm=iqm_estimate([of_traces]).answering(IN_GENERAL),
        agent_goal_share=goal_share([(test.agent_goals, len(test.agent_returns)) for test in asked], "prefix"),
        traces_goal_share=goal_share([(test.trace_goals, len(test.trace_returns)) for test in asked], "prefix"),
        agent_deterministic=plan.agent_deterministic,
        traces_deterministic=plan.traces_deterministic,
        tests=tests,
    )


def _robustness(
    task: Task, agent: Agent, settings: dict[str, int | None], points: tuple[Comparison, ...]
) -> Robustness:
    strata = [point.tests for point in points if point.prefix_length > 0]
    asked = [test for tests in strata for test in tests if not test.ended]
    return Robustness(
        task=task.label,
        agent=agent.name,
        settings=settings,
        points=points,
        agent_iqm=_iqm([[test.agent_mean for test in tests] for tests in strata]),
        traces_iqm=_iqm([[test.trace_mean for test in tests] for tests in strata]),
        agent_goal_share=goal_share(_by_trace(asked), "trace"),
    )


def _iqm(means: Sequence[Sequence[float | None]]) -> Estimate:
    return iqm_estimate([[mean for mean in row if mean is not None] for row in means]).answering(IN_GENERAL)


def _by_trace(tests: Sequence[PrefixTest]) -> list[tuple[int, int]]:
    """(goals, episodes) of each trace: prefixes of one trace hang together, so a trace is what is resampled."""
    goals, episodes = Counter[str](), Counter[str]()
    for test in tests:
        goals[test.trace] += test.agent_goals
        episodes[test.trace] += len(test.agent_returns)
    return [(goals[trace], episodes[trace]) for trace in episodes]


def _countdown(
    work: dict[int, list[Rollout]], on_progress: ProgressCallback | None
) -> Callable[[Episode], None] | None:
    """Reports every execution, and how many prefix lengths are finished: those all end at about the same time."""
    if on_progress is None:
        return None
    home = {rollout.id: length for length, rollouts in work.items() for rollout in rollouts}
    left = Counter(home.values())

    def finished(episode: Episode) -> None:
        left[home[episode.rollout.id]] -= 1
        reached = sum(count == 0 for count in left.values())
        note = f"{reached} of {len(work)} prefix lengths"
        on_progress(Progress("performance", len(home) - left.total(), len(home), note))

    return finished
