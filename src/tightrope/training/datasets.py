"""Demonstrations as data sets: Minari's own, and plain npz files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.errors import UsageError, require_extra
from tightrope.files import write_whole
from tightrope.tasks import Task
from tightrope.training.demonstrations import Demonstration

FORMAT, VERSION = "tightrope/demonstrations", 1


def write_npz(path: Path, task: Task, demonstrations: Sequence[Demonstration]) -> None:
    """Write all steps of all demonstrations below each other.

    ``episode`` says which demonstration a step belongs to. Where observations or actions have parts, each part has a
    column of its own, as in ``observations.image``.
    """
    _require_any(demonstrations)
    columns: dict[str, Any] = {}
    for name, space, rows in (
        ("observations", task.observation_space, [one.observations[:-1] for one in demonstrations]),
        ("next_observations", task.observation_space, [one.observations[1:] for one in demonstrations]),
        ("actions", task.action_space, [one.actions for one in demonstrations]),
    ):
        columns |= _columns(name, space, [row for part in rows for row in part])
    columns["rewards"] = np.concatenate([one.rewards for one in demonstrations])
    columns["terminations"] = np.concatenate([one.terminations for one in demonstrations])
    columns["truncations"] = np.concatenate([one.truncations for one in demonstrations])
    columns["episode"] = np.repeat(np.arange(len(demonstrations)), [len(one) for one in demonstrations])
    content = BytesIO()
    header = json.dumps({"format": FORMAT, "version": VERSION, "task": task.label, "episodes": _about(demonstrations)})
    np.savez_compressed(content, allow_pickle=False, header=header, **columns)
    write_whole(path, content.getvalue())


def write_minari(name: str, task: Task, demonstrations: Sequence[Demonstration]) -> Path:
    """Make a Minari data set of this name on this machine; returns its folder.

    Episodes have no reset seed, since they do not begin at a reset; each has its kind and where it begins.
    """
    _require_any(demonstrations)
    minari = require_extra("minari", "minari", "Writing a Minari data set")
    collector = require_extra("minari.data_collector", "minari", "Writing a Minari data set")
    spaces = {"observation_space": task.observation_space, "action_space": task.action_space}
    buffers = [
        collector.EpisodeBuffer(
            id=number,
            observations=_by_part(task.observation_space, one.observations),
            actions=_by_part(task.action_space, one.actions),
            rewards=one.rewards,
            terminations=one.terminations,
            truncations=one.truncations,
        )
        for number, one in enumerate(demonstrations)
    ]
    try:
        made = minari.create_dataset_from_buffers(
            name,
            buffers,
            description=f"tightrope: escapes and references of {task.label}",
            data_format="hdf5",
            jpeg_encoding=False,
            **spaces,
        )
    except ValueError as error:
        raise UsageError(f"Minari does not take {name!r} as the name of a new data set: {error}") from error
    made.storage.update_episode_metadata(_about(demonstrations))
    return Path(made.storage.data_path).parent


def _require_any(demonstrations: Sequence[Demonstration]) -> None:
    if not demonstrations:
        raise UsageError("there is nothing to demonstrate: the run has no reference, and no failing case has an escape")


def _about(demonstrations: Sequence[Demonstration]) -> list[dict[str, Any]]:
    """What a reader needs to find the situation again."""
    return [
        {"kind": one.kind, "reset_seed": one.trace.seed, "begins_at": one.start, "trace": one.trace.id}
        for one in demonstrations
    ]


def _columns(name: str, space: gym.Space[Any], rows: Sequence[Any]) -> dict[str, Any]:
    """An array for each part of the space."""
    if isinstance(space, gym.spaces.Dict):
        parts = [(str(key), part, [row[key] for row in rows]) for key, part in space.spaces.items()]
    elif isinstance(space, gym.spaces.Tuple):
        parts = [(str(index), part, [row[index] for row in rows]) for index, part in enumerate(space.spaces)]
    else:
        return {name: np.array([np.asarray(row) for row in rows])}
    return {key: value for part, space, rows in parts for key, value in _columns(f"{name}.{part}", space, rows).items()}


def _by_part(space: gym.Space[Any], rows: Sequence[Any]) -> Any:
    """Rows by part, as Minari keeps them."""
    if isinstance(space, gym.spaces.Dict):
        return {key: _by_part(part, [row[key] for row in rows]) for key, part in space.spaces.items()}
    if isinstance(space, gym.spaces.Tuple):
        return tuple(_by_part(part, [row[index] for row in rows]) for index, part in enumerate(space.spaces))
    return list(rows) if isinstance(space, gym.spaces.Text) else [np.asarray(row) for row in rows]
