"""Random numbers of agents that draw them themselves: seeded from the episode's stream before every question.

Their own generators, and the global ones of Python, NumPy and torch, are set from that stream, so what they draw
depends on the episode alone and not on who was asked before. The global ones are put back afterwards.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tightrope.agents.objects.contents import Contents, is_generator

SEEDS = 2**63
SMALL_SEEDS = 2**32
"""What NumPy's old generators take."""


def own_generators(thing: Any) -> list[Any]:
    """The generators that an object holds, encloses or names."""
    return [part for part in Contents(thing, numbers=False).parts if is_generator(part)]


def generators_digest(generators: Sequence[Any]) -> bytes:
    """Where these generators and the global ones stand, to be compared."""
    return Contents([[_state(one) for one in generators], [read() for read, _, _ in _global_generators()]]).digest


@contextmanager
def seeded(stream: np.random.Generator, generators: Sequence[Any]) -> Iterator[None]:
    """Set these generators and the global ones by the next number of a stream; the global ones until this ends."""
    seed = int(stream.integers(SEEDS))
    for one in generators:
        _seed(one, seed)
    known = [(write, read()) for read, write, _ in _global_generators()]
    for _, _, sow in _global_generators():
        sow(seed)
    try:
        yield
    finally:
        for write, state in known:
            write(state)


def _global_generators() -> list[tuple[Callable[[], Any], Callable[[Any], Any], Callable[[int], Any]]]:
    """How to read, to put back and to seed each; torch's only where somebody imported it."""
    found: list[tuple[Callable[[], Any], Callable[[Any], Any], Callable[[int], Any]]] = [
        (random.getstate, random.setstate, random.seed),
        (np.random.get_state, np.random.set_state, lambda seed: np.random.seed(seed % SMALL_SEEDS)),
    ]
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "default_generator"):
        found.append((torch.get_rng_state, torch.set_rng_state, torch.default_generator.manual_seed))
    return found


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator.get_state()


def _seed(generator: Any, seed: int) -> None:
    if isinstance(generator, np.random.Generator):
        kind: Any = type(generator.bit_generator)
        generator.bit_generator.state = kind(seed).state
    elif isinstance(generator, random.Random):
        generator.seed(seed)
    elif isinstance(generator, np.random.RandomState):
        generator.seed(seed % SMALL_SEEDS)
    else:
        generator.manual_seed(seed)
