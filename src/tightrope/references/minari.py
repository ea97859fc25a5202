"""Demonstrations from Minari data sets.

The actions and reset seeds are read from the HDF5 file itself. Minari's own reader would do more: it makes the
environment that a data set names, whatever that is, and decodes pictures that are not needed here.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import gymnasium as gym

from tightrope.errors import FormatError, UsageError, require_extra
from tightrope.files import DAMAGE, parse_json, read_content, require_plain_file
from tightrope.files.content import in_words
from tightrope.files.limits import AGENT_FILE, ARRAY_ITEMS, ARRAYS, SETTINGS_FILE
from tightrope.tasks.spaces import encode_action
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

EPISODE = re.compile(r"episode_([0-9]{1,9})")
PLAIN = "biuf"
"""Kinds of numbers that actions are read as."""
FILTERS = {1, 2, 3, 32000}
"""Ways of packing that HDF5 and h5py bring along: deflate, shuffle, checksums, LZF. Others are libraries to load."""


def minari_traces(dataset: str | PathLike[str], task: Task) -> list[ActionTrace]:
    """The episodes of a data set as action traces of the task.

    Episodes recorded without a reset seed cannot be replayed and are left out.

    Args:
        dataset: A data set's folder, or the name of one that is on this machine; nothing is downloaded.
        task: What the episodes are of.
    """
    h5py = require_extra("h5py", "minari", "Reading a Minari data set")
    path = _data_file(dataset)
    try:
        with h5py.File(path, "r") as file:
            traces = list(_Episodes(h5py, file).traces(task))
    except (OSError, RuntimeError, *DAMAGE) as error:
        raise FormatError(f"{path} is not a data set that can be read: {error}") from error
    if not traces:
        raise UsageError(
            f"no episode of the Minari data set {str(dataset)!r} has a reset seed, so none can be replayed; record it "
            f"with a seed or with Minari's automatic seeding"
        )
    return traces


def _data_file(dataset: str | PathLike[str]) -> Path:
    named = Path(os.environ.get("MINARI_DATASETS_PATH") or Path("~/.minari/datasets").expanduser()) / dataset
    folder = (Path(dataset) if Path(dataset).is_dir() else named) / "data"
    if not folder.is_dir():
        raise UsageError(
            f"the Minari data set {str(dataset)!r} is not on this machine; get it with: minari download {dataset}"
        )
    about = folder / "metadata.json"
    metadata = parse_json(read_content(about, SETTINGS_FILE), str(about), finite=False)
    form = metadata.get("data_format") if isinstance(metadata, dict) else None
    if form != "hdf5":
        raise UsageError(f"{about} says that the data are {form!r}; Minari data sets are read where they are 'hdf5'")
    require_plain_file(folder / "main_data.hdf5", AGENT_FILE)
    return folder / "main_data.hdf5"


class _Episodes:
    """The episodes of one file. Everything is looked at before it is read: where it lies, its kind and its size."""

    def __init__(self, h5py: Any, file: Any) -> None:
        self._h5py, self._file = h5py, file
        self._bytes = self._items = 0

    def traces(self, task: Task) -> Iterator[ActionTrace]:
        """Those with a seed, in their order."""
        numbers = sorted(int(match[1]) for name in self._file if (match := EPISODE.fullmatch(name)))
        for number in numbers:
            episode = self._member(self._file, f"episode_{number}")
            seed = self._seed(episode)
            if seed is not None:
                columns = self._columns(self._member(episode, "actions"), task.action_space)
                yield ActionTrace(task.label, seed, _actions(task.action_space, columns))

    def _member(self, group: Any, name: str) -> Any:
        """A part of a group that lies in this very file."""
        if not isinstance(group.get(name, getlink=True), self._h5py.HardLink):
            raise ValueError(f"{name!r} is missing, or a link to elsewhere")
        return group[name]

    def _seed(self, episode: Any) -> int | None:
        if "seed" not in episode.attrs:
            return None
        about = episode.attrs.get_id("seed")
        if about.dtype.kind not in "iu" or math.prod(about.shape) != 1:
            raise ValueError("a seed is one whole number")
        return int(episode.attrs["seed"])

    def _columns(self, member: Any, space: gym.Space[Any]) -> Any:
        """Actions as Minari stores them: an array for each part of the space, one row a step."""
        if isinstance(space, gym.spaces.Dict):
            return {name: self._columns(self._member(member, name), part) for name, part in space.spaces.items()}
        if isinstance(space, gym.spaces.Tuple):
            return tuple(
                self._columns(self._member(member, f"_index_{index}"), part) for index, part in enumerate(space.spaces)
            )
        self._require_plain(member)
        return member[()]

    def _require_plain(self, data: Any) -> None:
        if not isinstance(data, self._h5py.Dataset) or data.dtype.kind not in PLAIN or not data.shape:
            raise ValueError(f"{data.name!r} is not an array of numbers")
        settings = data.id.get_create_plist()
        if data.is_virtual or data.external or not _filters(settings) <= FILTERS:
            raise ValueError(f"{data.name!r} keeps its numbers in other files, or packed in an uncommon way")
        self._items += data.size
        self._bytes += max(data.size, math.prod(data.chunks or (0,))) * data.dtype.itemsize
        if self._bytes > ARRAYS or self._items > ARRAY_ITEMS:
            raise ValueError(f"its actions have more than {ARRAY_ITEMS:,} numbers or {in_words(ARRAYS)}")


def _filters(settings: Any) -> set[int]:
    return {settings.get_filter(index)[0] for index in range(settings.get_nfilters())}


def _actions(space: gym.Space[Any], columns: Any) -> tuple[Any, ...]:
    return tuple(encode_action(space, _at(columns, index)) for index in range(_steps(columns)))


def _steps(columns: Any) -> int:
    """How many rows there are; the parts of an action have the same number, or one of them is missed later."""
    if isinstance(columns, (dict, tuple)):
        return max(map(_steps, columns.values() if isinstance(columns, dict) else columns), default=0)
    return len(columns)


def _at(columns: Any, index: int) -> Any:
    """One row of what is stored by columns."""
    if isinstance(columns, dict):
        return {name: _at(column, index) for name, column in columns.items()}
    if isinstance(columns, tuple):
        return tuple(_at(column, index) for column in columns)
    return columns[index]
