"""What a snapshotter is, and the list of those there are."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import gymnasium as gym

from tightrope.errors import UsageError
from tightrope.seeding import derive_seed


class Snapshotter(Protocol):
    """Saves and restores one environment instance exactly, within one process.

    A class is a snapshotter for a family of environments; ``applies`` says whether it can try on this one. It is used
    only after the round trip of ``tightrope.simulation.conformance`` has passed on the very environment.
    """

    name: ClassVar[str]

    def __init__(self, env: Any) -> None: ...

    @classmethod
    def applies(cls, env: Any) -> bool:
        """Whether this family includes the environment."""
        ...

    def save(self) -> Any:
        """Everything the future of the environment depends on, wrappers and random generators included."""
        ...

    def load(self, payload: Any) -> None:
        """Put the environment back; the payload stays valid for further loads."""
        ...

    def reseed(self, seed: int) -> None:
        """Set every random generator of the environment anew, leaving the situation as it is."""
        ...


_snapshotters: list[type[Snapshotter]] = []


def register_snapshotter(snapshotter: type[Snapshotter], *, first: bool = True) -> type[Snapshotter]:
    """Add a snapshotter; it is tried before those registered earlier, or after them with ``first=False``."""
    if any(known.name == snapshotter.name for known in _snapshotters):
        raise UsageError(f"a snapshotter named {snapshotter.name!r} is registered already; choose another name")
    _snapshotters.insert(0 if first else len(_snapshotters), snapshotter)
    return snapshotter


def registered_snapshotters() -> tuple[type[Snapshotter], ...]:
    """All snapshotters, in the order in which they are tried."""
    return tuple(_snapshotters)


def reseed_environment(env: Any, seed: int) -> None:
    """Give the environment and every wrapper that has its own generator a new one."""
    layer, index = env, 0
    while True:
        if vars(layer).get("_np_random") is not None or layer is env.unwrapped:
            layer._np_random, _ = gym.utils.seeding.np_random(derive_seed("reseed", seed, index))
        if layer is env.unwrapped:
            return
        layer, index = layer.env, index + 1
