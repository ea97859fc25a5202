"""What the comparisons of step 4 show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from statistics import fmean
from typing import Any

from tightrope.display import Shown
from tightrope.files import check_header
from tightrope.statistics import Earnings, Estimate
from tightrope.svg import Line, lines_svg

VERSION = 1
COMPARISON_FORMAT, ROBUSTNESS_FORMAT = "tightrope/performance", "tightrope/robustness"


@dataclass(frozen=True, kw_only=True)
class PrefixTest:
    """One trace, cut at the prefix length: how it went on, and how the agent did from there."""

    trace: str
    """Id of the action trace."""
    length: int
    """Actions of the whole trace."""
    prefix_reward: float
    """Reward of the prefix; it is part of all returns below."""
    ended: bool
    """Whether the episode was over after the prefix, so that there was nothing left to play."""
    agent_returns: tuple[float, ...]
    """One for each episode; a single one where it cannot differ. At prefix length 0 the tests share the agent's."""
    trace_returns: tuple[float, ...]
    agent_goals: int
    """Episodes in which the agent reached the goal after the prefix."""
    trace_goals: int
    agent_earnings: Earnings | None = None
    """What the agent's episodes had earned on the way, the prefix's reward included; None: not known."""
    trace_earnings: Earnings | None = None
    errors: int = 0
    """Executions that raised, or had a reward that is no finite number; they are in none of the numbers above."""

    @property
    def agent_mean(self) -> float | None:
        """Mean return of the agent; None when every execution raised."""
        return fmean(self.agent_returns) if self.agent_returns else None

    @property
    def trace_mean(self) -> float | None:
        """Mean return of the trace; None when every execution raised."""
        return fmean(self.trace_returns) if self.trace_returns else None


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison(Shown):
    """The agent against the traces, from the same prefixes. At prefix length 0: from reset."""

    _shown = ("prefix_length", "agent", "traces", "difference", "agent_goal_share")
    _shares = ("agent_goal_share",)

    prefix_length: int
    agent: Estimate
    """Mean return of the agent, the reward of the prefix included."""
    traces: Estimate
    """Mean return of the traces."""
    difference: Estimate
    """Agent minus traces; paired by prefix where the prefix is not empty."""
    agent_iqm: Estimate
    """Interquartile mean: the mean of the middle half of the prefixes (at 0: of the episodes)."""
    traces_iqm: Estimate
    agent_goal_share: Estimate
    """Share of the prefixes (at 0: of the episodes) from which the agent reaches the goal; prefixes after which the
    episode was over are left out."""
    traces_goal_share: Estimate
    agent_deterministic: bool
    """Each agent episode was executed once and stands for all repetitions, since it cannot differ."""
    traces_deterministic: bool
    tests: tuple[PrefixTest, ...] = field(repr=False)

    @property
    def errors(self) -> int:
        """Executions that raised."""
        return sum(test.errors for test in self.tests)

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"format": COMPARISON_FORMAT, "version": VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Comparison:
        """The comparison that ``to_json`` described."""
        check_header("the performance comparison", data, COMPARISON_FORMAT, VERSION)
        return _comparison(data)


@dataclass(frozen=True, kw_only=True, repr=False)
class Robustness(Shown):
    """The comparison at growing prefix lengths."""

    _shown = ("task", "agent", "points", "agent_iqm", "traces_iqm", "agent_goal_share")
    _shares = ("agent_goal_share",)

    task: str
    agent: str
    settings: Mapping[str, Any] = field(repr=False)
    """The arguments of the call, as plain values."""
    points: tuple[Comparison, ...] = field(repr=False)
    """In order of prefix length, from 0."""
    agent_iqm: Estimate
    """Interquartile mean over all prefixes that are not empty, stratified by prefix length."""
    traces_iqm: Estimate
    agent_goal_share: Estimate
    """Share of the prefixes that are not empty from which the agent reaches the goal; every trace weighs the same."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"format": ROBUSTNESS_FORMAT, "version": VERSION, **asdict(self)}

    def _chart_svg(self) -> str:
        """Mean return of agent and traces by prefix length."""
        lines = [
            Line(label=self.agent, points=[(point.prefix_length, point.agent.value) for point in self.points]),
            Line(label="fuzz traces", points=[(point.prefix_length, point.traces.value) for point in self.points]),
        ]
        return lines_svg(lines, f"mean return of {self.agent}", "mean return, length of the prefix")

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Robustness:
        """The result that ``to_json`` described."""
        check_header("the robustness comparison", data, ROBUSTNESS_FORMAT, VERSION)
        values = {part.name: data[part.name] for part in fields(cls)}
        points = tuple(_comparison(point) for point in data["points"])
        return cls(**{**values, **_estimates(cls, data), "points": points, "settings": dict(data["settings"])})


def _comparison(data: Mapping[str, Any]) -> Comparison:
    values = {part.name: data[part.name] for part in fields(Comparison)}
    return Comparison(**{**values, **_estimates(Comparison, data), "tests": tuple(map(_test, data["tests"]))})


def _estimates(cls: type[Any], data: Mapping[str, Any]) -> dict[str, Estimate]:
    return {part.name: Estimate.from_json(data[part.name]) for part in fields(cls) if part.type == "Estimate"}


def _test(data: Mapping[str, Any]) -> PrefixTest:
    returns = {name: tuple(data[name]) for name in ("agent_returns", "trace_returns")}
    earned = {name: _earnings(data.get(name)) for name in ("agent_earnings", "trace_earnings")}
    return PrefixTest(**{**data, **returns, **earned})


def _earnings(data: Mapping[str, Any] | None) -> Earnings | None:
    if data is None:
        return None
    known: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in data.items()}
    return Earnings(**known)
