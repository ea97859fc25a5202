"""An episode as plain values: the one form in which it travels, is stored and is printed.

What is written follows from the fields of `Episode`, so that a field added there is never left behind. The rollout is
not part of it: whoever reads an episode knows what was asked.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from math import isfinite
from typing import Any

import numpy as np

from tightrope.execution.episode_error import EpisodeError, ErrorKind
from tightrope.execution.rollout import Episode, Rollout
from tightrope.files.fields import WrongField, field_checks
from tightrope.outcome import Outcome

FIELDS = tuple(part.name for part in fields(Episode) if part.name != "rollout")
DEFAULTS = {part.name: part.default for part in fields(Episode) if part.default is not MISSING}
TYPES = {part.name: str(part.type) for part in fields(Episode)}
OUTCOMES = frozenset(name for name, kind in TYPES.items() if kind == "Outcome")

ARRAYS = ("<u8", "<f8")
LARGEST_EXACT = 2**53
"""Readers other than Python round integers above."""


def pack_episode(episode: Episode) -> tuple[Any, ...]:
    """The values of an episode, in the order of its fields, for another process of the same program."""
    return tuple(str(value) if type(value) is Outcome else value for value in _values(episode))


def unpack_episode(rollout: Rollout, packed: tuple[Any, ...]) -> Episode:
    """The episode of this rollout."""
    return _episode(rollout, dict(zip(FIELDS, packed, strict=True)))


def episode_to_json(episode: Episode) -> dict[str, Any]:
    """An episode for a file; what is as it would be anyway is left out."""
    known = zip(FIELDS, _values(episode), strict=True)
    return {name: _to_json(value) for name, value in known if not _is_default(name, value)}


def episode_from_json(rollout: Rollout, content: Mapping[str, Any]) -> Episode:
    """The episode that ``episode_to_json`` described; KeyError, TypeError or ValueError for anything else."""
    unknown = content.keys() - set(FIELDS)
    if unknown:
        raise ValueError(f"an episode has no {', '.join(sorted(unknown))}")
    missing = set(FIELDS) - content.keys() - DEFAULTS.keys()
    if missing:
        raise KeyError(", ".join(sorted(missing)))
    values = {name: _from_json(value) for name, value in content.items()}
    if isinstance(values.get("error"), str):
        # Earlier versions stored the text alone.
        values["error"] = EpisodeError(kind=ErrorKind.UNKNOWN, message=values["error"].strip())
    for name, value in values.items():
        _check(name, value)
    return _episode(rollout, values)


def _values(episode: Episode) -> list[Any]:
    return [getattr(episode, name) for name in FIELDS]


def _episode(rollout: Rollout, values: dict[str, Any]) -> Episode:
    for name in OUTCOMES & values.keys():
        values[name] = Outcome(values[name])
    return Episode(rollout=rollout, **values)


def _is_default(name: str, value: Any) -> bool:
    return name in DEFAULTS and type(value) is type(DEFAULTS[name]) and bool(value == DEFAULTS[name])


def _check(name: str, value: Any) -> None:
    if name not in OUTCOMES and not field_checks(Episode)[name](value):
        raise WrongField(f"{name} of an episode is {TYPES[name]}, not {value!r:.40}")


def _to_json(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        packed = np.ascontiguousarray(value)
        data = base64.b64encode(packed.tobytes()).decode()
        return {"array": data, "dtype": packed.dtype.str, "shape": list(packed.shape)}
    if isinstance(value, tuple):
        # Rewards and actions are long, and mostly plain numbers.
        kinds = set(map(type, value))
        small = kinds <= {int} and max(map(abs, value), default=0) <= LARGEST_EXACT
        return list(value) if small or (kinds == {float} and isfinite(sum(value))) else list(map(_to_json, value))
    if isinstance(value, float) and not isfinite(value):
        # JSON has no infinity and no NaN.
        return {"float": str(value)}
    if type(value) is int and abs(value) > LARGEST_EXACT:
        return {"hex": f"{value:x}"}
    if isinstance(value, EpisodeError):
        return {"raised": {**asdict(value), "kind": str(value.kind)}}
    return str(value) if isinstance(value, Outcome) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, dict):
        if "float" in value:
            return float(value["float"])
        if "hex" in value:
            return int(value["hex"], 16)
        if "raised" in value:
            raised = dict(value["raised"])
            return EpisodeError(kind=ErrorKind(raised.pop("kind")), **raised)
        if value["dtype"] not in ARRAYS:
            raise ValueError(f"an array of an episode is one of {', '.join(ARRAYS)}, not {value['dtype']!r}")
        return np.frombuffer(base64.b64decode(value["array"]), dtype=value["dtype"]).reshape(value["shape"])
    if isinstance(value, list):
        return tuple(map(_from_json, value)) if {list, dict} & set(map(type, value)) else tuple(value)
    return value
