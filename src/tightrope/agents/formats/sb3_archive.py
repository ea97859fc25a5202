"""What can be read from a Stable-Baselines3 archive without running anything in it.

An archive is a zip of ``data`` (JSON) and ``policy.pth`` (weights). Values that JSON cannot hold are pickled into it,
and beside each pickle its first-level attributes are written out as text. The class of the policy and the arguments it
was made with can be read from that text; the spaces come from the task; so the policy is made anew and given the
weights. Which classes and arguments there are to choose from is in `sb3_policies`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tightrope.agents.formats.sb3_policies import ACTIVATIONS, EXTRACTORS, POLICIES, RULES, ClassName, is_listed
from tightrope.errors import FormatError, TrustRequired
from tightrope.files import parse_json, require_plain_file
from tightrope.files.content import in_words
from tightrope.files.limits import AGENT_DATA, AGENT_FILE, AGENT_RATIO, AGENT_SMALL
from tightrope.files.zips import read_members

CLASS = re.compile(r"^<class '([\w.]+)\.(\w+)'>$")
METHOD = re.compile(r"^<function (\w+)\.\w+ at 0x")
ONLY_FOR_TRAINING = ("optimizer_class", "optimizer_kwargs", "ortho_init")
MEMBERS = ("data", "policy.pth")


@dataclass(frozen=True, kw_only=True)
class Sb3Archive:
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
        if self.policy_class is None or not is_listed(self.policy_class, POLICIES):
            named = f"{str(self.policy_class or 'unnamed')[:200]}"
            hidden = f"its policy class ({named}) is none of the policies of Stable-Baselines3 and sb3-contrib"
        elif self.unreadable:
            hidden = f"the policy's arguments {[name[:80] for name in self.unreadable]} are pickled objects"
        else:
            return
        raise TrustRequired(
            f"{self.path}: {hidden}, and unpickling would run code from the file. "
            f"Load it with trust=True (--trust) if you know where it comes from"
        )


def read_archive(path: Path) -> Sb3Archive:
    """Read an archive; nothing in it is unpickled."""
    most = min(AGENT_FILE, max(AGENT_SMALL, AGENT_RATIO * require_plain_file(path, AGENT_FILE)))
    try:
        with path.open("rb") as file:
            members = read_members(file, path.name, most=most, names=MEMBERS)
        if len(members["data"]) > AGENT_DATA:
            raise FormatError(
                f"its data have {in_words(len(members['data']))}; at most {in_words(AGENT_DATA)} are read"
            )
        return _archive(path, _table(parse_json(members["data"], "its data", finite=False)), members["policy.pth"])
    except (FormatError, KeyError) as error:
        raise FormatError(
            f"{path} is not a Stable-Baselines3 archive: a zip with 'data' and 'policy.pth' in it ({error})"
        ) from error


def _archive(path: Path, data: Mapping[str, Any], weights: bytes) -> Sb3Archive:
    arguments, unreadable = _policy_arguments(_table(data.get("policy_kwargs") or {}))
    return Sb3Archive(
        path=path,
        policy_class=_policy_class(data.get("policy_class")),
        policy_arguments=arguments,
        unreadable=unreadable,
        state_dependent_noise=data.get("use_sde") is True,
        observation_shape=_shape(data.get("observation_space")),
        number_of_actions=_number(data.get("action_space")),
        pickles={key: str(value[":serialized:"]) for key, value in data.items() if _is_pickled(value)},
        weights=weights,
    )


def _table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"a {type(value).__name__} where there should be a table")
    return value


def _policy_class(entry: Any) -> ClassName | None:
    """The name of a pickled class: its module is written out, its own name only in the repr of its methods."""
    if not isinstance(entry, Mapping) or "__module__" not in entry:
        return None
    owners = [match[1] for value in entry.values() if isinstance(value, str) and (match := METHOD.match(value))]
    return ClassName(str(entry["__module__"]), owners[0]) if owners else None


def _policy_arguments(entry: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The arguments that decide what the policy is, and the names of those that the text does not tell."""
    wanted = {key: value for key, value in entry.items() if key[:1] != ":" and key not in ONLY_FOR_TRAINING}
    told = {key: _class(value) for key, value in wanted.items()}
    # An argument of older versions that is not used is as good as none.
    told = {key: value for key, value in told.items() if value is not None or key in RULES}
    return told, tuple(key for key, value in told.items() if key not in RULES or isinstance(value, str))


def _class(value: Any) -> Any:
    """A value beside a pickle: JSON as it is; text may be the repr of anything, and only listed classes are told."""
    match = CLASS.match(value) if isinstance(value, str) else None
    if match is None:
        return value
    named = ClassName(match[1], match[2])
    return named if is_listed(named, ACTIVATIONS) or is_listed(named, EXTRACTORS) else value


def _is_pickled(value: Any) -> bool:
    return isinstance(value, Mapping) and ":serialized:" in value


def _shape(entry: Any) -> tuple[int, ...] | None:
    shape = entry.get("_shape") if isinstance(entry, Mapping) else None
    return tuple(shape) if isinstance(shape, list) and all(isinstance(size, int) for size in shape) else None


def _number(entry: Any) -> int | None:
    if not isinstance(entry, Mapping) or not str(entry.get(":type:")).endswith(".discrete.Discrete'>"):
        return None
    number = str(entry.get("n"))
    return int(number) if re.fullmatch(r"[0-9]{1,18}", number) else None
