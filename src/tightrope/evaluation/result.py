"""What plain episodes showed about an agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any

from tightrope.display import Shown
from tightrope.execution import Episode
from tightrope.outcome import Outcome
from tightrope.statistics import (
    ENOUGH_TO_KNOW_THE_RANGE,
    IN_PLAIN_EPISODES,
    Earnings,
    Estimate,
    mean_estimate,
    rate_estimate,
)
from tightrope.svg import Bar, shares_svg

SAME_START = "every reset seed gave the same episode: one stands for all"


@dataclass(frozen=True, kw_only=True)
class Evaluation(Shown):
    """Full episodes of one agent from many reset seeds: how it does when nobody puts it anywhere.

    Every rate answers *in plain episodes*: the share of episodes from the task's own starts, as in use.
    """

    _shown = ("task", "agent", "episodes", "unsafe_rate", "goal_rate", "mean_return", "errors")
    _shares = ("unsafe_rate", "goal_rate")

    task: str
    agent: str
    fingerprint: str
    episodes: tuple[Episode, ...] = field(repr=False)
    """In the order of their reset seeds; those that raised an error are among them."""
    seed: int = 0
    """What the reset seeds follow from."""
    length: int | None = None
    """At most so many steps were watched; None: until the episode ended."""
    starts_alike: bool = False
    """Neither the starts nor anything after them differed, so no number here has any width."""

    def _chart_svg(self) -> str:
        """How its episodes end."""
        rates = {"end unsafe": self.unsafe_rate, "reach the goal": self.goal_rate, "time out": self.timeout_rate}
        bars = [Bar(label=label, value=rate.value, low=rate.low, high=rate.high) for label, rate in rates.items()]
        return shares_svg(bars, f"how the plain episodes of {self.agent} end")

    @cached_property
    def judged(self) -> tuple[Episode, ...]:
        """The episodes that raised no error."""
        return tuple(episode for episode in self.episodes if episode.error is None)

    @property
    def errors(self) -> int:
        """Episodes in which the environment or the agent raised an error; no rate counts them."""
        return len(self.episodes) - len(self.judged)

    @cached_property
    def unsafe_rate(self) -> Estimate:
        """The share of episodes that ended unsafe."""
        return self._rate(self.failing_episodes)

    @property
    def fail_frequency(self) -> Estimate:
        """The same as ``unsafe_rate``: a plain episode fails when it ends unsafe."""
        return self.unsafe_rate

    @cached_property
    def goal_rate(self) -> Estimate:
        """The share of episodes that reached the goal."""
        return self._rate([episode for episode in self.judged if episode.outcome is Outcome.GOAL])

    @cached_property
    def timeout_rate(self) -> Estimate:
        """The share of episodes that ended neither in the goal nor unsafe: cut by a time limit or by ``length``."""
        return self._rate([e for e in self.judged if e.outcome not in (Outcome.GOAL, Outcome.UNSAFE)])

    @cached_property
    def mean_return(self) -> Estimate:
        """The mean sum of rewards of an episode.

        Its interval allows for episodes that end earlier than any seen, with what others had earned by then, and for
        fails at the worst moment. Where none failed and reaching the goal is paid, failing may cost something too: then
        there is no interval."""
        returns = [episode.total_reward for episode in self.judged]
        if not returns or not all(map(isfinite, returns)):
            return mean_estimate(returns).answering(IN_PLAIN_EPISODES)
        if self.starts_alike:
            return mean_estimate(returns[:1], deterministic=True).answering(IN_PLAIN_EPISODES)
        return mean_estimate(returns, bounds=self._reach_of_returns()).answering(IN_PLAIN_EPISODES)

    def _reach_of_returns(self) -> tuple[float, float] | str | None:
        """Within what returns lie, or why nobody can say; None: too few episodes to tell, or no difference."""
        if len(self.judged) < ENOUGH_TO_KNOW_THE_RANGE:
            return None
        earned = Earnings.joined(Earnings.of(episode.rewards, episode.outcome) for episode in self.judged)
        found = None if earned is None else earned.bounds
        return None if isinstance(found, tuple) and found[0] == found[1] else found

    @property
    def failing_episodes(self) -> tuple[Episode, ...]:
        """The episodes that ended unsafe; each can be replayed and explained."""
        return tuple(episode for episode in self.judged if episode.outcome is Outcome.UNSAFE)

    @property
    def steps(self) -> int:
        """Environment steps of all episodes together."""
        return sum(len(episode.actions) for episode in self.episodes)

    def to_json(self) -> dict[str, Any]:
        """The numbers in plain values."""
        return {
            "episodes": len(self.judged),
            "errors": self.errors,
            "unsafe_rate": self.unsafe_rate.to_json(),
            "goal_rate": self.goal_rate.to_json(),
            "timeout_rate": self.timeout_rate.to_json(),
            "mean_return": self.mean_return.to_json(),
        }

    def _rate(self, hits: Sequence[Episode]) -> Estimate:
        if self.starts_alike and self.judged:
            return Estimate.certain(float(bool(hits)), SAME_START, IN_PLAIN_EPISODES)
        return rate_estimate(len(hits), len(self.judged)).answering(IN_PLAIN_EPISODES)

    def __repr__(self) -> str:
        raised = next((episode.error for episode in self.episodes if episode.error is not None), None)
        errors = "" if raised is None else f"; {self.errors} raised errors, the first with {raised.message}"
        unsafe, goal, earned = (
            estimate.answering("") for estimate in (self.unsafe_rate, self.goal_rate, self.mean_return)
        )
        return (
            f"<Evaluation of {self.agent!r}: {len(self.judged)} plain episodes, unsafe {unsafe:share}, "
            f"goal {goal:share}, return {earned}{errors}>"
        )
