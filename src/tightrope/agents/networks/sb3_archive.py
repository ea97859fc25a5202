"""What can be read from a Stable-Baselines3 archive without running anything in it.

An archive is a zip of ``data`` (JSON) and ``policy.pth`` (weights). Values that JSON cannot hold are pickled into it,
and beside each pickle its first-level attributes are written out as text. The class of the policy and the arguments it
was made with can be read from that text; the spaces come from the task; so the policy is made anew and given the
weights.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tightrope.errors import FormatError, TrustRequired

CLASS = re.compile(r"^<class '([\w.]+)\.(\w+)'>$")
METHOD = re.compile(r"^<function (\w+)\.\w+ at 0x")
TRUSTED_PACKAGES = ("stable_baselines3.", "sb3_contrib.", "torch.nn.modules.activation", "torch.nn.modules.linear")
ONLY_FOR_TRAINING = ("optimizer_class", "optimizer_kwargs", "ortho_init")


class ClassName(NamedTuple):
    """A class the archive names, not yet imported."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True, kw_only=True)
class Archive:
    """The readable part of an archive."""

    path: Path
    policy_class: ClassName | None
    policy_arguments: Mapping[str, Any]
    """JSON values and ClassNames."""
    unreadable: tuple[str, ...]
    """Arguments whose text does not say what they are."""
    state_dependent_noise: bool
    observation_shape: tuple[int, ...] | None
    number_of_actions: int | None
    pickles: Mapping[str, str]
    """The pickled values, still encoded; opened only when trusted."""
    weights: bytes

    def require_readable(self) -> None:
        """Raise TrustRequired, naming what stands in the way, unless the policy can be made from text alone."""
        if self.policy_class is None or not _from_known_package(self.policy_class):
            hidden = f"its policy class ({self.policy_class or 'unnamed'}) is not one of Stable-Baselines3's"
        elif self.unreadable:
            hidden = f"the policy's arguments {list(self.unreadable)} are pickled objects"
        else:
            return
        raise TrustRequired(
            f"{self.path}: {hidden}, and unpickling would run code from the file. "
            f"Load it with trust=True if you know where it comes from"
        )


def read_archive(path: Path) -> Archive:
    """Read an archive; nothing in it is unpickled."""
    try:
        with zipfile.ZipFile(path) as archive:
            data, weights = json.loads(archive.read("data")), archive.read("policy.pth")
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise FormatError(
            f"{path} is not a Stable-Baselines3 archive: a zip with 'data' and 'policy.pth' in it ({error})"
        ) from error
    arguments, unreadable = _policy_arguments(data.get("policy_kwargs") or {})
    return Archive(
        path=path,
        policy_class=_policy_class(data.get("policy_class")),
        policy_arguments=arguments,
        unreadable=unreadable,
        state_dependent_noise=bool(data.get("use_sde")),
        observation_shape=_shape(data.get("observation_space")),
        number_of_actions=_number(data.get("action_space")),
        pickles={key: value[":serialized:"] for key, value in data.items() if _is_pickled(value)},
        weights=weights,
    )


def _policy_class(entry: Any) -> ClassName | None:
    """The name of a pickled class: its module is written out, its own name only in the repr of its methods."""
    if not isinstance(entry, Mapping) or "__module__" not in entry:
        return None
    owners = [match[1] for value in entry.values() if isinstance(value, str) and (match := METHOD.match(value))]
    return ClassName(str(entry["__module__"]), owners[0]) if owners else None


def _policy_arguments(entry: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    wanted = {key: value for key, value in entry.items() if key[:1] != ":" and key not in ONLY_FOR_TRAINING}
    if not _is_pickled(entry):
        return wanted, ()
    readable = {key: _readable(value) for key, value in wanted.items()}
    return readable, tuple(key for key, value in readable.items() if value is _UNREADABLE)


_UNREADABLE = object()


def _readable(value: Any) -> Any:
    """A value beside a pickle: JSON as it is; text may be the repr of anything, and only classes are understood."""
    if not isinstance(value, str):
        return value
    match = CLASS.match(value)
    if match is None or not _from_known_package(ClassName(match[1], match[2])):
        return _UNREADABLE
    return ClassName(match[1], match[2])


def _from_known_package(name: ClassName) -> bool:
    return f"{name.module}.".startswith(TRUSTED_PACKAGES)


def _is_pickled(value: Any) -> bool:
    return isinstance(value, Mapping) and ":serialized:" in value


def _shape(entry: Any) -> tuple[int, ...] | None:
    shape = entry.get("_shape") if isinstance(entry, Mapping) else None
    return tuple(shape) if isinstance(shape, list) else None


def _number(entry: Any) -> int | None:
    if not isinstance(entry, Mapping) or not str(entry.get(":type:")).endswith(".discrete.Discrete'>"):
        return None
    number = str(entry.get("n"))
    return int(number) if number.isdigit() else None
