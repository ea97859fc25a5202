"""Copies of an agent's object, so that what it remembers in one episode is unknown to all others.

Copied is what the object holds, and for a function what it encloses. Shared are its code, what cannot be copied (an
inference session, a lock) and the weights of torch networks, unless it changes them. Whether the copies are then
independent of each other is found out by asking them.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Mapping, Sequence
from typing import Any

from tightrope.agents.objects.contents import Contents


class Copier:
    """Makes copies of one object, and copies of those."""

    def __init__(self, thing: Any, *, share_weights: bool) -> None:
        parts = Contents(thing, numbers=False).parts
        weights = weights_in(parts) if share_weights else []
        self._shared = {id(part): part for part in [*weights, *filter(_is_sealed, parts)]}
        try:
            self.copy_of(thing)
        except Exception:
            self._share_more([part for part in parts if part is not thing])

    def copy_of(self, thing: Any) -> Any:
        """A copy of the object, or of a copy of it."""
        memo = dict(self._shared)
        return _function(thing, memo) if isinstance(thing, types.FunctionType) else copy.deepcopy(thing, memo)

    def _share_more(self, parts: Sequence[Any]) -> None:
        """Find the parts that refuse to be copied, the inner ones first."""
        for part in reversed(parts):
            if not _can_be_copied(part, self._shared):
                self._shared[id(part)] = part


def _function(function: types.FunctionType, memo: dict[int, Any]) -> types.FunctionType:
    """A function with its own copy of what it encloses, of its defaults and its attributes."""
    cells = tuple(_cell(cell, memo) for cell in function.__closure__ or ())
    made = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        copy.deepcopy(function.__defaults__, memo),
        cells,
    )
    made.__kwdefaults__ = copy.deepcopy(function.__kwdefaults__, memo)
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    vars(made).update(copy.deepcopy(vars(function), memo))
    return made


def _cell(cell: types.CellType, memo: dict[int, Any]) -> types.CellType:
    try:
        return types.CellType(copy.deepcopy(cell.cell_contents, memo))
    except ValueError:  # nothing was put into it yet
        return types.CellType()


def weights_in(parts: Sequence[Any]) -> list[Any]:
    """The parameters of the torch networks among these; told without importing torch."""
    networks = (part for part in parts if hasattr(type(part), "state_dict") and hasattr(type(part), "parameters"))
    return [parameter for network in networks for parameter in network.parameters()]


def _is_sealed(part: Any) -> bool:
    """Whether this is an object of a compiled library that cannot be copied."""
    if hasattr(part, "__dict__") or hasattr(part, "__array__") or isinstance(part, (list, tuple, dict, set, frozenset)):
        return False
    return not _can_be_copied(part, {})


def _can_be_copied(part: Any, shared: Mapping[int, Any]) -> bool:
    try:
        copy.deepcopy(part, dict(shared))
    except Exception:
        return False
    return True
