"""Random seeds derived from what a thing is, never from when or where it runs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np


def derive_seed(*parts: object) -> int:
    """A seed in 0 … 2³¹-1 (what every environment accepts) that depends on nothing but the parts.

    Args:
        *parts: What it is derived from: texts, numbers, ids.
    """
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 33


def generator(*parts: object) -> np.random.Generator:
    """A random generator that depends on nothing but the parts."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A state key as a file knows it: its hash, and what it looked like."""

    checksum: int
    text: str


def stable_hash(value: Any) -> int:
    """A 64-bit hash of a hashable value that is the same in every process (``hash`` of a string is not)."""
    if type(value) is StoredKey:
        return value.checksum
    return int.from_bytes(hashlib.blake2b(_canonical(value), digest_size=8).digest(), "big")


def _canonical(value: Any) -> bytes:
    kind = type(value)
    # Nearly all keys are tuples of numbers, and every step of the fuzzer hashes one.
    if kind is int:
        return b"int:%d" % value
    if kind is tuple or isinstance(value, tuple):
        return b"(" + b",".join(map(_canonical, value)) + b")"
    if isinstance(value, bytes):
        return b"b" + value
    if isinstance(value, np.generic):
        return _canonical(value.item())
    if isinstance(value, frozenset):
        return b"{" + b",".join(sorted(map(_canonical, value))) + b"}"
    return f"{kind.__name__}:{value!r}".encode()
