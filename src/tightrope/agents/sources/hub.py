"""Agents of the Hugging Face Hub: ``hf:owner/name``, ``hf:owner/name/file.zip``, ``hf:owner/name@revision``.

A file from there is anybody's: it is read as data, never with trust. Once it is downloaded it is a file like any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from tightrope.agents.agent import Agent
from tightrope.agents.sources.loaders import OPTIONS, AgentLoader, AgentRequest
from tightrope.errors import AgentError, TrustRequired, require_extra
from tightrope.guards.faults import require_fault

PLACE = re.compile(r"^hf:([\w-][\w.-]*/[\w-][\w.-]*)(?:@([\w-][\w.-]*))?(?:/([^/].*))?$")
ENDINGS = (".zip", ".onnx", ".cleanrl_model")
"""Files that are agents by themselves."""
STATISTICS = ("*vec_normalize*", "*vecnormalize*")


class HubPlace(NamedTuple):
    """Where an agent lies on the hub."""

    repository: str
    revision: str | None
    file: str | None


def hub_place(source: str) -> HubPlace:
    """``hf:owner/name@revision/file`` taken apart."""
    match = PLACE.match(source)
    if match is None or any(part in ("..", "") for part in PurePosixPath(match[3] or "x").parts):
        raise AgentError(f"{source!r:.200} is not an address on the hub; write hf:owner/name or hf:owner/name/file.zip")
    return HubPlace(match[1], match[2], match[3])


def chosen_file(folder: Path, place: HubPlace) -> Path:
    """The agent among what was downloaded: the one named, the one of the repository's name, or the only one."""
    found = sorted(path.name for path in folder.iterdir() if path.suffix in ENDINGS)
    if place.file is not None:
        if not (folder / place.file).is_file():
            raise AgentError(f"there is no {place.file!r} in hf:{place.repository}{_listed(found)}")
        return folder / place.file
    own = [name for name in found if Path(name).stem == place.repository.partition("/")[2]]
    if len(own or found) != 1:
        raise AgentError(
            f"which file of hf:{place.repository} is the agent? Write hf:{place.repository}/FILE{_listed(own or found)}"
        )
    return folder / (own or found)[0]


def _listed(names: Sequence[str]) -> str:
    return f"; it has {', '.join(names[:20])}" if names else f"; none of its files ends in {', '.join(ENDINGS)}"


def _downloaded(place: HubPlace) -> Path:
    library: Any = require_extra("huggingface_hub", "hub", "An agent of the Hugging Face Hub")
    wanted = [place.file] if place.file is not None else [f"*{ending}" for ending in ENDINGS]
    # Unless it was named, the agent lies at the top; what lies below are its parts, unpacked.
    below = None if place.file is not None else ["*/*"]
    try:
        folder = library.snapshot_download(
            place.repository, revision=place.revision, allow_patterns=[*wanted, *STATISTICS], ignore_patterns=below
        )
    except BaseException as error:
        require_fault(error)
        told = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"
        raise AgentError(
            f"hf:{place.repository} could not be downloaded from the Hugging Face Hub ({told}). "
            f"Check its name, or download the file elsewhere and give its path"
        ) from error
    return Path(folder)


def _accepts(source: Any) -> bool:
    return isinstance(source, str) and source.startswith("hf:")


def _load(request: AgentRequest) -> Agent:
    place = hub_place(request.source)
    path = chosen_file(_downloaded(place), place)
    try:
        return replace(request, trust=False).agent_of(str(path), name=path.stem)
    except TrustRequired as error:
        raise TrustRequired(
            f"{error}. Files from the hub are not trusted automatically. If you trust this one, give it as a local "
            f"file: --agent {path} --trust"
        ) from error


HUB = AgentLoader(accepts=_accepts, load=_load, runs_code=_accepts, uses=tuple(OPTIONS))
