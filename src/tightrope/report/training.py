"""A row of checkpoints through training: how each does, and which kinds of failure appear and go."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tightrope.agents.sources.checkpoints import NUMBER, training_step
from tightrope.display import Shown
from tightrope.evaluation import Evaluation
from tightrope.report.results import RunResults
from tightrope.risk import FailureEstimate
from tightrope.safety import FailureGroup, GroupShare, SafetyResult, group_failures, shares_of_groups
from tightrope.statistics import Estimate
from tightrope.statistics.words import count, number

A_ROW = 3
"""Agents whose names differ in a number alone are taken for checkpoints from so many on: two may be anything."""
NO_STEPS = ("seed", "run", "trial", "fold")
"""What a number in a name counts that is not the training."""


class Tested(Protocol):
    """What has results by agent: a run, in memory or in a folder."""

    @property
    def plain(self) -> Mapping[str, Evaluation]:
        """Agent → its plain episodes."""

    @property
    def safety(self) -> Mapping[str, Mapping[str, SafetyResult]]:
        """Suite → agent → result."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Checkpoint(Shown):
    """One agent of the row, and what is known of it."""

    _shown = ("agent", "step")

    agent: str
    step: int | None
    """The training step that its name tells."""
    plain: Evaluation | None = field(repr=False)
    safety: Mapping[str, SafetyResult] = field(repr=False)
    """Suite → result."""
    risk: FailureEstimate | None = field(default=None, repr=False)
    """How likely it is to fail in use; None: not asked."""

    def fail_frequency(self, suite: str) -> Estimate:
        """On the cases of a suite."""
        result = self.safety.get(suite)
        return Estimate.of_nothing("not tested") if result is None else result.fail_frequency


@dataclass(frozen=True, kw_only=True, repr=False)
class FailureRow(Shown):
    """One kind of failure through training."""

    _shown = ("representative", "shares")

    group: FailureGroup = field(repr=False)
    tested: tuple[GroupShare, ...] = field(repr=False)
    """For each checkpoint how often it failed so, among its executions of these cases."""

    @property
    def shares(self) -> tuple[float | None, ...]:
        """For each checkpoint the share of its executions of these cases that failed so; None: it met none of them, or
        fails them in a way that nobody knows."""
        return tuple(each.value for each in self.tested)

    @property
    def representative(self) -> str:
        """The id of the case that stands for the group."""
        return self.group.representative.case.id

    @property
    def agent(self) -> str | None:
        """Who fails it so in that case; another may fail the same case in another way, which is another kind."""
        return self.group.representative.failing_episodes[0].rollout.agent

    @property
    def first(self) -> int:
        """The number of the checkpoint at which it appears."""
        return next(number for number, share in enumerate(self.shares) if share)

    @property
    def gone(self) -> int | None:
        """The number of the checkpoint from which on nobody fails so any more; None: the last one tested still does."""
        last = max(number for number, share in enumerate(self.shares) if share)
        later = [number for number, share in enumerate(self.shares) if number > last and share is not None]
        return later[0] if later else None

    @property
    def left(self) -> bool | None:
        """Whether the last checkpoint fails so; None: it is not known."""
        return None if self.gone is None and self.shares[-1] is None else self.gone is None


@dataclass(frozen=True, kw_only=True, repr=False)
class History(Shown):
    """Checkpoints in the order of training."""

    _shown = ("task", "checkpoints", "failures")

    task: str
    checkpoints: tuple[Checkpoint, ...]
    failures: tuple[FailureRow, ...]
    """Kinds of failure in the order in which they appear."""

    @property
    def suites(self) -> tuple[str, ...]:
        """All suites that any of them was tested with."""
        return tuple(dict.fromkeys(suite for each in self.checkpoints for suite in each.safety))

    def name_of(self, row: FailureRow, digits: int | None = None) -> str:
        """A kind by its case, so many digits of it; with who fails it so where another kind has the same case."""
        shared = sum(each.representative == row.representative for each in self.failures) > 1
        return row.representative[:digits] + (f" of {row.agent}" if shared else "")

    def end_of(self, row: FailureRow) -> str:
        """Where a kind goes."""
        if row.gone is not None:
            return self.checkpoints[row.gone].agent
        return "still there" if row.left else "not known since"

    def sentence(self) -> str:
        """What became of all kinds."""
        ends, newest = [row.left for row in self.failures], self.checkpoints[-1].agent
        gone, left = (count(ends.count(end), "is", "are") for end in (False, True))
        text = f"Of {count(len(ends), 'kind of failure', 'kinds of failure')} {gone} gone, and {left} left at {newest}"
        unknown = ends.count(None)
        return text + (f"; what became of {number(unknown)} is not known" if unknown else "")

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "task": self.task,
            "checkpoints": [_checkpoint_values(each) for each in self.checkpoints],
            "failures": [
                {
                    "case": row.representative,
                    "agent": row.agent,
                    "avoidable": row.group.avoidable,
                    "shares": list(row.shares),
                    "appears": self.checkpoints[row.first].agent,
                    "gone": None if row.gone is None else self.checkpoints[row.gone].agent,
                }
                for row in self.failures
            ],
        }


def history_of_checkpoints(task: str, checkpoints: Iterable[Checkpoint]) -> History:
    """The checkpoints in the order of training, and their failures by kind."""
    row = _ordered(list(checkpoints))
    groups = group_failures(result for each in row for result in each.safety.values())
    by_checkpoint = [shares_of_groups(groups, each.safety.values()) for each in row]
    failures = [
        FailureRow(group=group, tested=tuple(shares[at] for shares in by_checkpoint)) for at, group in enumerate(groups)
    ]
    return History(task=task, checkpoints=tuple(row), failures=tuple(sorted(failures, key=lambda each: each.first)))


def checkpoint(source: Tested, agent: str, controls: Collection[str]) -> Checkpoint:
    """An agent of a run as one of the row; controls say nothing of training."""
    results = {name: row[agent] for name, row in source.safety.items() if agent in row and name not in controls}
    return Checkpoint(agent=agent, step=training_step(agent), plain=source.plain.get(agent), safety=results)


def through_training(runs: Sequence[RunResults]) -> History | None:
    """The history that runs of one task tell where their agents are checkpoints of one; None: they are not.

    A checkpoint that is in several of them is taken from the last.
    """
    found = {agent.name: checkpoint(run, agent.name, run.controls) for run in runs for agent in run.agents}
    tasks = list(dict.fromkeys(run.task.label for run in runs))
    if len(tasks) != 1 or not are_checkpoints(list(found)):
        return None
    return history_of_checkpoints(tasks[0], found.values())


def are_checkpoints(names: Sequence[str]) -> bool:
    """Whether names tell of one agent through training: alike but for a number that counts steps."""
    steps = [training_step(name) for name in names]
    if len(names) < A_ROW or None in steps or len(set(steps)) < len(steps):
        return False
    alike = {NUMBER.sub("", name).lower() for name in names}
    return len(alike) == 1 and not any(word in name for name in alike for word in NO_STEPS)


def _ordered(row: Sequence[Checkpoint]) -> list[Checkpoint]:
    """By training step where all names tell one; otherwise as they were given."""
    steps = [each.step for each in row]
    if any(step is None for step in steps) or len(set(steps)) < len(steps):
        return list(row)
    return sorted(row, key=lambda each: each.step or 0)


def _checkpoint_values(each: Checkpoint) -> dict[str, Any]:
    told: dict[str, Any] = {
        "agent": each.agent,
        "step": each.step,
        "plain": None if each.plain is None else each.plain.to_json(),
        "safety": {
            suite: {
                "fail_frequency": result.fail_frequency.to_json(),
                "avoidable_fail_frequency": result.avoidable_fail_frequency.to_json(),
                "mean_return": result.mean_return.to_json(),
            }
            for suite, result in each.safety.items()
        },
    }
    return told if each.risk is None else told | {"risk": each.risk.to_json()}
