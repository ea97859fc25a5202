"""A row of checkpoints through training: how each does, and which kinds of failure appear and go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tightrope.agents.sources.checkpoints import training_step
from tightrope.display import Shown
from tightrope.errors import UsageError
from tightrope.evaluation import Evaluation
from tightrope.runs.run import Run, open_run
from tightrope.runs.storage.layout import CONTROLS
from tightrope.safety import FailureGroup, SafetyResult, group_failures
from tightrope.statistics import Estimate


@dataclass(frozen=True, kw_only=True)
class Checkpoint(Shown):
    """One agent of the row, and what is known of it."""

    _shown = ("agent", "step")

    agent: str
    step: int | None
    """The training step that its name tells."""
    plain: Evaluation | None = field(repr=False)
    safety: Mapping[str, SafetyResult] = field(repr=False)
    """Suite → result."""

    def fail_frequency(self, suite: str) -> Estimate:
        """On the cases of a suite."""
        result = self.safety.get(suite)
        return Estimate.of_nothing("not tested") if result is None else result.fail_frequency


@dataclass(frozen=True, kw_only=True)
class FailureRow(Shown):
    """One kind of failure through training."""

    _shown = ("representative", "shares")

    group: FailureGroup = field(repr=False)
    shares: tuple[float | None, ...]
    """For each checkpoint the share of its executions of these cases that failed; None: it met none of them."""

    @property
    def representative(self) -> str:
        """The id of the case that stands for the group."""
        return self.group.representative.case.id

    @property
    def first(self) -> int:
        """The number of the checkpoint at which it appears."""
        return next(number for number, share in enumerate(self.shares) if share)

    @property
    def gone(self) -> int | None:
        """The number of the checkpoint from which on nobody fails so any more; None: the last one still does."""
        last = max(number for number, share in enumerate(self.shares) if share)
        later = [number for number, share in enumerate(self.shares) if number > last and share is not None]
        return later[0] if later else None


@dataclass(frozen=True, kw_only=True)
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

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "task": self.task,
            "checkpoints": [
                {
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
                for each in self.checkpoints
            ],
            "failures": [
                {
                    "case": row.representative,
                    "avoidable": row.group.avoidable,
                    "shares": list(row.shares),
                    "appears": self.checkpoints[row.first].agent,
                    "gone": None if row.gone is None else self.checkpoints[row.gone].agent,
                }
                for row in self.failures
            ],
        }


def history_of(runs: Iterable[Run]) -> History:
    """The agents of runs in the order of training, and their failures by kind.

    Args:
        runs: Run folders of one task; a checkpoint that is in several of them is taken from the last.
    """
    runs = list(runs)
    tasks = list(dict.fromkeys(run.task_label for run in runs))
    if len(tasks) != 1:
        raise UsageError(f"a history is of one task, not of {', '.join(tasks) or 'none'}")
    found = {agent: _checkpoint(run, agent) for run in runs for agent in run.agents}
    row = _ordered(list(found.values()))
    groups = group_failures(result for each in row for result in each.safety.values())
    failures = [FailureRow(group=group, shares=tuple(_share(group, each) for each in row)) for group in groups]
    return History(task=tasks[0], checkpoints=tuple(row), failures=tuple(sorted(failures, key=lambda each: each.first)))


def runs_in(folder: Path, *, trust: bool = False) -> list[Run]:
    """The run in a folder, or those in the folders in it."""
    if (folder / "run.json").exists():
        return [open_run(folder, trust=trust)]
    below = sorted(path.parent for path in folder.glob("*/run.json")) if folder.is_dir() else []
    if not below:
        raise UsageError(f"{folder} is no run folder and holds none; `tightrope run TASK --agent FOLDER` makes one")
    return [open_run(path, trust=trust) for path in below]


def _checkpoint(run: Run, agent: str) -> Checkpoint:
    results = {suite: row[agent] for suite, row in run.safety.items() if agent in row and suite not in CONTROLS}
    return Checkpoint(agent=agent, step=training_step(agent), plain=run.plain.get(agent), safety=results)


def _ordered(row: Sequence[Checkpoint]) -> list[Checkpoint]:
    """By training step where all names tell one; otherwise as they were given."""
    steps = [each.step for each in row]
    if any(step is None for step in steps) or len(set(steps)) < len(steps):
        return list(row)
    return sorted(row, key=lambda each: each.step or 0)


def _share(group: FailureGroup, checkpoint: Checkpoint) -> float | None:
    """How often a checkpoint failed the cases of a group, among its executions of them that were judged."""
    members = {case.case.id for case in group.members}
    tested = [
        case
        for result in checkpoint.safety.values()
        for case in result.distinct_cases
        if case.case.id in members and not case.invalid
    ]
    own = [case for case in tested if any(case is member for member in group.members)]
    judged = sum(len(case.verdicts) - case.errors - case.ended_early for case in tested)
    return None if judged == 0 else sum(case.fails for case in own) / judged
