"""Action traces as portable files: JSON to be read by people, npz to be small. Nothing in them is ever executed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tightrope.errors import FormatError, UsageError
from tightrope.files import DAMAGE, check_header, parse_json, read_json_file, write_json
from tightrope.files.arrays import read_arrays
from tightrope.trace import Action, ActionTrace

FORMAT, VERSION = "tightrope/traces", 1
MOST = 2**63
"""An npz file holds actions and steps in 64 bits."""


def write_traces(path: str | PathLike[str], traces: Iterable[ActionTrace]) -> None:
    """Write action traces to a file.

    Args:
        path: Where to write them; the ending chooses between ``.json`` and ``.npz``.
        traces: What to write.
    """
    path, traces = Path(path), list(traces)
    header = {"format": FORMAT, "version": VERSION}
    if path.suffix == ".json":
        write_json(path, {**header, "traces": [trace_to_json(trace) for trace in traces]})
    elif path.suffix == ".npz":
        with path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, header=json.dumps(header), **_columns(traces))
    else:
        raise UsageError(f"action traces are written to .json or .npz files, not {path.name!r}")


def read_traces(path: str | PathLike[str]) -> list[ActionTrace]:
    """Read action traces from a file.

    Args:
        path: A ``.json`` or ``.npz`` file; nothing in it can run.
    """
    path = Path(path)
    if path.suffix == ".json":
        content = read_json_file(path, kind=FORMAT, version=VERSION)
        try:
            return [trace_from_json(trace) for trace in content["traces"]]
        except DAMAGE as error:
            raise FormatError(
                f"{path.name} is damaged: a field of a trace is missing or damaged ({error!r})"
            ) from error
    if path.suffix == ".npz":
        return _read_npz(path)
    raise UsageError(f"action traces are read from .json or .npz files, not {path.name!r}")


def trace_to_json(trace: ActionTrace) -> dict[str, Any]:
    """An action trace as plain values."""
    content: dict[str, Any] = {"task": trace.task, "seed": trace.seed, "actions": list(trace.actions)}
    if trace.reseeds:
        content["reseeds"] = [list(reseed) for reseed in trace.reseeds]
    return content


def trace_from_json(content: Mapping[str, Any]) -> ActionTrace:
    """An action trace from plain values."""
    return ActionTrace(
        str(content["task"]),
        int(content["seed"]),
        tuple(action_from_json(action) for action in content["actions"]),
        tuple((_whole(index), _whole(seed)) for index, seed in content.get("reseeds", ())),
    )


def action_from_json(value: Any) -> Action:
    """A hashable action from what JSON made of it."""
    if isinstance(value, (list, tuple)):
        return tuple(action_from_json(part) for part in value)
    if isinstance(value, float) and isfinite(value):
        return value
    return _whole(value)


def _whole(value: Any) -> int:
    """A whole number that any of the files can hold."""
    if type(value) is not int or not -MOST <= value < MOST:
        raise ValueError(f"{value!r:.60} is not an action, a step or a seed")
    return value


def _columns(traces: Sequence[ActionTrace]) -> dict[str, Any]:
    """One array per field over all traces; traces are told apart by their lengths."""
    reseeds = [reseed for trace in traces for reseed in trace.reseeds]
    return {
        "task": np.array([trace.task for trace in traces], dtype=np.str_),
        # As text: other tools record seeds of more than 63 bits.
        "seed": np.array([str(trace.seed) for trace in traces], dtype=np.str_),
        "length": np.array([len(trace) for trace in traces], dtype=np.int64),
        "reseed_count": np.array([len(trace.reseeds) for trace in traces], dtype=np.int64),
        "reseeds": np.array(reseeds, dtype=np.int64).reshape(-1, 2),
        "actions": _action_column([action for trace in traces for action in trace.actions]),
    }


def _action_column(actions: Sequence[Action]) -> Any:
    if all(type(action) is int for action in actions):
        return np.array(actions, dtype=np.int64)
    # Tuples keep ints, floats and nesting apart only as text; compression makes up for the length.
    return np.array([json.dumps(action) for action in actions], dtype=np.str_)


def _read_npz(path: Path) -> list[ActionTrace]:
    try:
        columns = read_arrays(path)
        check_header(path.name, parse_json(str(columns["header"]), f"the header of {path.name}"), FORMAT, VERSION)
        return _rows(columns)
    except (FormatError, *DAMAGE) as error:
        raise FormatError(f"{path.name} is not an npz file of action traces ({error})") from error


def _rows(columns: Mapping[str, Any]) -> list[ActionTrace]:
    actions = columns["actions"].tolist()
    if columns["actions"].dtype.kind == "U":
        actions = [parse_json(action, "an action") for action in actions]
    reseeds = columns["reseeds"].tolist()
    traces, action_at, reseed_at = [], 0, 0
    fields = zip(*(columns[name].tolist() for name in ("task", "seed", "length", "reseed_count")), strict=True)
    for task, seed, length, reseed_count in fields:
        action_end, reseed_end = action_at + length, reseed_at + reseed_count
        row = {"task": task, "seed": seed, "actions": actions[action_at:action_end]}
        traces.append(trace_from_json({**row, "reseeds": reseeds[reseed_at:reseed_end]}))
        action_at, reseed_at = action_end, reseed_end
    return traces
