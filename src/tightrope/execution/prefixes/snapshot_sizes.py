"""How many bytes a snapshot really adds, when snapshots share their parts."""

from __future__ import annotations

import gc
import pickle
import sys
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from tightrope.simulation.snapshot import Snapshot

_NUMBERS = frozenset({int, float, bool, type(None)})
"""Counted with what holds them."""
_WEIGHTLESS = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)
"""Shared by the whole process."""

_CONTAINER_OVERHEAD = 64
_ARRAY_OVERHEAD = 112
_BYTES_OVERHEAD = 33
_SNAPSHOT_BYTES = 200
"""A snapshot itself and its transition."""
_INFO_BYTES = 100
"""An entry of ``info``, which is small in all common environments."""


class Scales:
    """Weighs objects, counting every part once for as long as these scales are used.

    The parts must stay alive meanwhile, since they are told apart by identity.
    """

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._opaque: dict[type, int] = {}
        self._ways: dict[type, str] = {}

    def weigh(self, *values: Any) -> int:
        """Bytes of all parts not weighed before."""
        total, waiting, seen, ways = 0, list(values), self._seen, self._ways
        while waiting:
            part = waiting.pop()
            kind = type(part)
            way = ways.get(kind) or self._find_way(kind)
            if way == "nothing" or id(part) in seen:
                continue
            seen.add(id(part))
            if way == "bytes":
                total += len(part) + _BYTES_OVERHEAD
            elif way == "array":
                total += part.nbytes + _ARRAY_OVERHEAD
            elif inner := gc.get_referents(part):
                total += _CONTAINER_OVERHEAD + 8 * len(inner)
                waiting.extend(inner)
            else:
                total += self._opaque_weight(kind, part)
        return total

    def _find_way(self, kind: type) -> str:
        """How parts of a type are weighed; remembered, because every snapshot has dozens of parts."""
        if kind in _NUMBERS or issubclass(kind, _WEIGHTLESS):
            way = "nothing"
        elif kind in (bytes, str, bytearray):
            way = "bytes"
        else:
            way = "array" if issubclass(kind, np.ndarray) or hasattr(kind, "nbytes") else "container"
        self._ways[kind] = way
        return way

    def _opaque_weight(self, kind: type, part: Any) -> int:
        """Objects of compiled libraries hide their size; their pickle does not."""
        if kind not in self._opaque:
            try:
                self._opaque[kind] = len(pickle.dumps(part, protocol=pickle.HIGHEST_PROTOCOL))
            except Exception:
                self._opaque[kind] = sys.getsizeof(part)
        return self._opaque[kind]


def snapshot_bytes(snapshot: Snapshot, scales: Scales) -> int:
    """Bytes of a snapshot without its history, which others share."""
    shown = snapshot.transition
    return _SNAPSHOT_BYTES + _INFO_BYTES * len(shown.info) + scales.weigh(snapshot.payload, shown.observation)
