"""Demonstrations from Minari data sets."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from tightrope.errors import UsageError, require_extra
from tightrope.tasks.spaces import encode_action
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace


def minari_traces(dataset: str | PathLike[str], task: Task) -> list[ActionTrace]:
    """The episodes of a data set as action traces of the task.

    Episodes recorded without a reset seed cannot be replayed and are left out.

    Args:
        dataset: A data set's folder, or the name of one that is on this machine; nothing is downloaded.
        task: What the episodes are of.
    """
    minari = require_extra("minari", "minari", "Reading a Minari data set")
    data = _load(minari, dataset)
    seeds = [metadata.get("seed") for metadata in data.storage.get_episode_metadata(data.episode_indices)]
    traces = [
        ActionTrace(task.label, int(seed), _actions(task, episode))
        for seed, episode in zip(seeds, data.iterate_episodes(), strict=True)
        if seed is not None
    ]
    if not traces:
        raise UsageError(
            f"no episode of the Minari data set {str(dataset)!r} has a reset seed, so none can be replayed; record it "
            f"with a seed or with Minari's automatic seeding"
        )
    return traces


def _load(minari: Any, dataset: str | PathLike[str]) -> Any:
    if Path(dataset).is_dir():
        return minari.MinariDataset(Path(dataset) / "data")
    try:
        return minari.load_dataset(str(dataset))
    except FileNotFoundError as error:
        raise UsageError(
            f"the Minari data set {str(dataset)!r} is not on this machine; get it with: minari download {dataset}"
        ) from error


def _actions(task: Task, episode: Any) -> tuple[Any, ...]:
    return tuple(encode_action(task.action_space, _at(episode.actions, index)) for index in range(len(episode)))


def _at(columns: Any, index: int) -> Any:
    """One row of what Minari stores by columns."""
    if isinstance(columns, Mapping):
        return {name: _at(column, index) for name, column in columns.items()}
    if isinstance(columns, tuple):
        return tuple(_at(column, index) for column in columns)
    return columns[index]
