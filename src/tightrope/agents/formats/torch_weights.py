"""Weights from files of torch, with nothing but weights in them.

A file of ``torch.save`` is a zip: a pickle that says how the tensors are put together, and their numbers beside it. The
pickle is looked through first: only what a state dict needs may occur in it. Then torch reads it as weights only, from
an archive made anew of the members that were looked at, so that both see the same.
"""

from __future__ import annotations

import io
import pickletools
import re
import warnings
import zipfile
from collections.abc import Mapping
from typing import Any

from tightrope.errors import FormatError, TrustRequired, require_extra
from tightrope.files.limits import AGENT_FILE, AGENT_RATIO, AGENT_SMALL, AGENT_STEPS
from tightrope.files.zips import read_members

NEEDED = re.compile(r"^[^/]+/(data\.pkl|data/\d+|version|byteorder)$")
"""The members that weights are made of."""
PROGRAM = re.compile(r"^[^/]+/(code/|constants\.pkl)")
"""The members of a program (TorchScript)."""

STORAGES = ("Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
GLOBALS = frozenset(
    {
        "collections OrderedDict",
        "torch Size",
        "torch._utils _rebuild_tensor_v2",
        "torch._utils _rebuild_parameter",
        *(f"torch {kind}Storage" for kind in STORAGES),
    }
)
"""All that the pickle of a state dict has to name."""
STRANGE = frozenset({"STACK_GLOBAL", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4", "PERSID"})
"""Steps of a pickle that torch never writes for a state dict, and that could name other things."""


def read_weights(content: bytes, source: str, *, trust: bool = False) -> dict[str, Any]:
    """The state dict in a file's bytes. Unless trusted, nothing in it is executed, and all of it is dense tensors."""
    weights = read_saved(content, source, trust=trust)
    if not isinstance(weights, Mapping):
        raise FormatError(f"{source} holds a {type(weights).__name__}, not a state_dict")
    return dict(weights)


def read_saved(content: bytes, source: str, *, trust: bool = False) -> Any:
    """What ``torch.save`` was given: a state dict, or several. Unless trusted, nothing in it is executed."""
    torch = require_extra("torch", "torch", "An agent from torch weights")
    try:
        plain = content if trust else _plain_archive(content, source)
        return torch.load(io.BytesIO(plain), map_location="cpu", weights_only=not trust)
    except FormatError:
        raise
    except Exception as error:
        raise TrustRequired(
            f"{source} cannot be read as weights only ({type(error).__name__}: {_first_sentence(error)}), and reading "
            f"it otherwise could run code from it. Save module.state_dict() instead, or load it with trust=True "
            f"(--trust) if you know where it comes from"
        ) from error


def state_dict_in(saved: Any, source: str) -> dict[str, Any]:
    """The state dict itself, where a script saved it beside others (the actor's first) or under a name."""
    if isinstance(saved, tuple) and saved:
        saved = saved[0]
    if isinstance(saved, Mapping):
        for name in ("state_dict", "model_state_dict", "model_weights", "model"):
            if isinstance(saved.get(name), Mapping):
                return dict(saved[name])
        return dict(saved)
    raise FormatError(f"{source} holds a {type(saved).__name__}, not a state_dict")


def require_tensors(weights: Mapping[str, Any], source: str) -> int:
    """Raise unless this is names and dense tensors; returns how many numbers there really are.

    A tensor may claim any shape over few numbers, or share them with others; only what is in the file counts.
    """
    torch = require_extra("torch", "torch", "An agent from torch weights")
    storages: dict[int, int] = {}
    for name, tensor in weights.items():
        if not isinstance(name, str) or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise FormatError(f"{source}: {str(name)[:80]!r} is a {type(tensor).__name__}; a state_dict holds tensors")
        storage = tensor.untyped_storage()
        if tensor.layout is not torch.strided or tensor.device.type != "cpu" or tensor.nbytes > storage.nbytes():
            raise FormatError(f"{source}: {name[:80]!r} is not a tensor of numbers that are all in the file")
        storages[storage.data_ptr()] = storage.nbytes() // tensor.element_size()
    return sum(storages.values())


def _plain_archive(content: bytes, source: str) -> bytes:
    if not content.startswith(b"PK"):
        raise ValueError("it is not in torch's present format, so save it anew")
    most = min(AGENT_FILE, max(AGENT_SMALL, AGENT_RATIO * len(content)))
    members = read_members(io.BytesIO(content), source, most=most)
    if any(PROGRAM.match(name) for name in members):
        raise ValueError("it is a TorchScript program, so give its weights and class")
    needed = {name.partition("/")[2]: part for name, part in members.items() if NEEDED.match(name)}
    require_plain_pickle(needed["data.pkl"])
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for name, part in needed.items():
            packed.writestr(f"weights/{name}", part)
    return archive.getvalue()


def require_plain_pickle(content: bytes) -> None:
    """Read a pickle's steps, without taking them, and raise where one of them is not a state dict's."""
    with warnings.catch_warnings():
        # Python has an opinion on how text was written in old pickles, which is nobody's business here.
        warnings.simplefilter("ignore")
        for number, (step, argument, _) in enumerate(pickletools.genops(content)):
            if number > AGENT_STEPS:
                raise FormatError(f"its pickle has more than {AGENT_STEPS:,} steps")
            if step.name in STRANGE or (step.name == "GLOBAL" and argument not in GLOBALS):
                raise ValueError(f"its pickle names {argument or step.name!r}")


def _first_sentence(error: Exception) -> str:
    return str(error).partition("\n")[0].partition(". ")[0][:200]
