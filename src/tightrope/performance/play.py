"""The executions behind the comparisons: rollouts out, returns in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

from tightrope.agents.agent import Agent
from tightrope.errors import UsageError
from tightrope.execution import Engine, Episode, Rollout
from tightrope.outcome import Outcome
from tightrope.performance.results import PrefixTest
from tightrope.seeding import derive_seed
from tightrope.settings import PerformanceConfig
from tightrope.statistics import Earnings
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace


@dataclass(frozen=True, kw_only=True)
class ComparisonPlan:
    """How the executions of one comparison are made."""

    agent: str
    agent_repetitions: int
    """How often the agent plays on from one situation; 1 where it cannot differ."""
    trace_repetitions: int
    agent_deterministic: bool
    traces_deterministic: bool
    length: int | None
    seed: int

    @classmethod
    def of(cls, engine: Engine, agent: Agent, episodes: int, length: int | None, seed: int) -> ComparisonPlan:
        """Nothing is executed twice that cannot differ."""
        quiet = engine.deterministic and agent.deterministic
        return cls(
            agent=agent.name,
            agent_repetitions=1 if quiet else episodes,
            trace_repetitions=1 if engine.deterministic else episodes,
            agent_deterministic=quiet,
            traces_deterministic=engine.deterministic,
            length=length,
            seed=seed,
        )

    def from_reset(self, trace: ActionTrace) -> list[Rollout]:
        """The trace from reset, each time with fresh randomness."""
        return [
            Rollout(
                start=_reset(trace),
                actions=trace.actions,
                seed=self._seed(self.traces_deterministic, "trace", trace.id, episode),
            )
            for episode in range(self.trace_repetitions)
        ]

    def agent_from_reset(self, trace: ActionTrace) -> list[Rollout]:
        """The agent from the reset that the trace begins with."""
        return [
            Rollout(
                start=_reset(trace),
                agent=self.agent,
                length=self.length,
                seed=self._seed(self.agent_deterministic, "agent", trace.seed, episode),
            )
            for episode in range(self.agent_repetitions)
        ]

    def suffix(self, trace: ActionTrace, prefix_length: int, draw: int) -> list[Rollout]:
        """The rest of the trace after its prefix, which leads to the same situation every time."""
        return [
            Rollout(
                start=trace.prefix(prefix_length),
                actions=trace.suffix(prefix_length),
                fixed_prefix=True,
                seed=self._seed(self.traces_deterministic, "prefix", trace.id, prefix_length, draw, episode),
            )
            for episode in range(self.trace_repetitions)
        ]

    def agent_after(self, trace: ActionTrace, prefix_length: int, draw: int) -> list[Rollout]:
        """The agent after the trace's prefix, with the randomness that the trace's own rest gets."""
        return [
            Rollout(
                start=trace.prefix(prefix_length),
                agent=self.agent,
                length=self.length,
                fixed_prefix=True,
                seed=self._seed(self.agent_deterministic, "prefix", trace.id, prefix_length, draw, episode),
            )
            for episode in range(self.agent_repetitions)
        ]

    def _seed(self, deterministic: bool, *parts: object) -> int:
        """Where nothing is random the seed is always 0, so that equal executions are seen to be equal."""
        return 0 if deterministic else derive_seed(self.seed, *parts)


def prefix_test(trace: ActionTrace, of_agent: Sequence[Episode], of_trace: Sequence[Episode]) -> PrefixTest:
    """The executions from one situation as a test."""
    agent, rest = _without_errors(of_agent), _without_errors(of_trace)
    known = next(iter((*agent, *rest)), None)
    return PrefixTest(
        trace=trace.id,
        length=len(trace),
        prefix_reward=known.prefix_reward if known else 0.0,
        ended=known is not None and known.prefix_outcome.terminal,
        agent_returns=_returns(agent),
        trace_returns=_returns(rest),
        agent_goals=_goals(agent),
        trace_goals=_goals(rest),
        agent_earnings=_earnings(agent),
        trace_earnings=_earnings(rest),
        errors=len(of_agent) + len(of_trace) - len(agent) - len(rest),
    )


def run_distinct(
    engine: Engine, rollouts: Iterable[Rollout], on_episode: Callable[[Episode], None] | None = None
) -> dict[str, Episode]:
    """Run each rollout once, however often it occurs; episodes by rollout id."""
    distinct = {rollout.id: rollout for rollout in rollouts}
    episodes = engine.run(list(distinct.values()), on_episode=on_episode)
    return dict(zip(distinct, episodes, strict=True))


def check_call(task: Task, traces: Sequence[ActionTrace], **counts: int) -> tuple[ActionTrace, ...]:
    """The rules for the arguments of both comparisons."""
    PerformanceConfig.require(**counts)
    if isinstance(traces, ActionTrace):
        traces = (traces,)
    if not isinstance(traces, Sequence):
        raise UsageError(f"traces are action traces, such as fuzz(…).fittest, not {type(traces).__name__}")
    if not traces:
        raise UsageError("there are no traces to compare with; give fuzz(…).fittest, or other action traces")
    for trace in traces:
        if trace.task != task.label:
            raise UsageError(f"a trace is of task {trace.task!r} and cannot be compared on {task.label!r}")
    return tuple(traces)


def _reset(trace: ActionTrace) -> ActionTrace:
    return ActionTrace(trace.task, trace.seed)


def _without_errors(episodes: Sequence[Episode]) -> list[Episode]:
    """Those that can be averaged: nothing raised, and every reward was a finite number."""
    return [episode for episode in episodes if episode.error is None and isfinite(_return(episode))]


def _returns(episodes: Sequence[Episode]) -> tuple[float, ...]:
    return tuple(map(_return, episodes))


def _return(episode: Episode) -> float:
    return episode.prefix_reward + episode.total_reward


def _earnings(episodes: Sequence[Episode]) -> Earnings | None:
    return Earnings.joined(Earnings.of(each.rewards, each.outcome, each.prefix_reward) for each in episodes)


def _goals(episodes: Sequence[Episode]) -> int:
    return sum(episode.outcome is Outcome.GOAL and episode.reached_handover for episode in episodes)
