"""The agents of run folders as one row through training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from tightrope.agents.sources.checkpoints import by_training_step
from tightrope.errors import UsageError
from tightrope.report.training import History, checkpoint, history_of_checkpoints
from tightrope.risk import FailureEstimate
from tightrope.runs.run import Run, open_run
from tightrope.runs.storage.layout import CONTROLS


def history_of(runs: Iterable[Run], risks: Mapping[str, FailureEstimate] | None = None) -> History:
    """The agents of runs in the order of training, and their failures by kind.

    Args:
        runs: Run folders of one task; a checkpoint that is in several of them is taken from the last.
        risks: By agent, how likely it is to fail in use.
    """
    runs = list(runs)
    tasks = list(dict.fromkeys(run.task_label for run in runs))
    if len(tasks) != 1:
        raise UsageError(f"a history is of one task, not of {', '.join(tasks) or 'none'}")
    found = {agent: checkpoint(run, agent, CONTROLS) for run in runs for agent in run.agents}
    known = [replace(each, risk=(risks or {}).get(agent)) for agent, each in found.items()]
    return history_of_checkpoints(tasks[0], known)


def runs_in(folder: Path, *, trust: bool = False) -> list[Run]:
    """The run in a folder, or those in the folders in it, by the training step that their names tell, or by name."""
    if (folder / "run.json").exists():
        return [open_run(folder, trust=trust)]
    below = by_training_step(path.parent for path in folder.glob("*/run.json")) if folder.is_dir() else []
    if not below:
        raise UsageError(
            f"{folder} is not a run folder and contains none; `tightrope run TASK --agent FOLDER` makes one"
        )
    return [open_run(path, trust=trust) for path in below]
