"""What a snapshotter is, and the list of those there are."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import cloudpickle

from tightrope.errors import UnknownName, UsageError
from tightrope.extensions import loaded


class Snapshotter(Protocol):
    """Saves and restores one environment instance exactly, within one process.

    A class is a snapshotter for a family of environments; ``applies`` says whether it can try on this one. It is used
    only after the round trip of ``tightrope.simulation.conformance.examination`` has passed on the very environment.
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


GROUP = "tightrope.snapshotters"
"""Entry points of packages that bring snapshotters: each names a class."""
_snapshotters: list[type[Snapshotter]] = []


def register_snapshotter(snapshotter: type[Snapshotter], *, first: bool = True) -> type[Snapshotter]:
    """Add a way to save a family of environments.

    Args:
        snapshotter: The class.
        first: Whether it is tried before those registered earlier, or after them.
    """
    if any(known.name == snapshotter.name for known in _snapshotters):
        raise UsageError(f"a snapshotter named {snapshotter.name!r} is registered already; choose another name")
    _snapshotters.insert(0 if first else len(_snapshotters), snapshotter)
    return snapshotter


def registered_snapshotters() -> tuple[type[Snapshotter], ...]:
    """All snapshotters, in the order in which they are tried: those of other packages first."""
    return (*loaded(GROUP, _broken_rule).values(), *_snapshotters)


def _broken_rule(snapshotter: Any) -> str:
    missing = [part for part in ("name", "applies", "save", "load", "reseed") if not hasattr(snapshotter, part)]
    if missing:
        return f"a snapshotter class is needed, and this has no {missing[0]!r}"
    taken = any(known.name == snapshotter.name for known in _snapshotters)
    return f"there is a snapshotter named {snapshotter.name!r} already" if taken else ""


def pack_snapshotters() -> bytes:
    """Those that a user has registered, for another process: what a seed means there hangs on them, too."""
    own = [snapshotter for snapshotter in _snapshotters if not snapshotter.__module__.startswith("tightrope.")]
    try:
        return cloudpickle.dumps(own)  # type: ignore[no-any-return]
    except Exception as error:
        names = ", ".join(repr(snapshotter.name) for snapshotter in own)
        raise UsageError(
            f"the registered snapshotter {names} cannot be sent to another process ({type(error).__name__}: {error}); "
            f"define it at the top of a module"
        ) from error


def unpack_snapshotters(packed: bytes) -> None:
    """Register, in the order they were tried in, those that are not known here."""
    for snapshotter in reversed(pickle.loads(packed)):
        if all(known.name != snapshotter.name for known in _snapshotters):
            register_snapshotter(snapshotter)


def applicable_snapshotters(env: Any) -> list[type[Snapshotter]]:
    """Those whose family includes the environment, in the order in which they are tried."""
    return [snapshotter for snapshotter in registered_snapshotters() if snapshotter.applies(env)]


def find_snapshotter(name: str) -> type[Snapshotter]:
    """The snapshotter of this name."""
    for snapshotter in registered_snapshotters():
        if snapshotter.name == name:
            return snapshotter
    raise UnknownName("snapshotter", name, [snapshotter.name for snapshotter in registered_snapshotters()])


def canonical_reseed(env: Any) -> Callable[[int], None]:
    """How this environment is given fresh randomness, whichever way it is saved, so that traces replay anywhere."""
    return applicable_snapshotters(env)[0](env).reseed


def shows_its_draws(env: Any) -> bool:
    """Whether all that reseeding sets are generators that can be looked at; a user's snapshotter may set more."""
    return bool(getattr(applicable_snapshotters(env)[0](env), "reseeds_all_in_sight", False))


def draws_nothing(env: Any) -> bool:
    """Whether the environment itself says that its steps draw no random numbers; wrapped, it cannot know."""
    return env is env.unwrapped and bool(getattr(env, "draws_nothing", False))
