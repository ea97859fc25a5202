"""A situation on the open path of a depth-first search."""

from __future__ import annotations

from collections.abc import Hashable

from tightrope.reference import ENDINGS
from tightrope.simulation import Snapshot
from tightrope.trace import Action


class Frame:
    """A situation on the open path and what its tries came to."""

    __slots__ = (
        "actions",
        "doomed",
        "endings",
        "followed",
        "fuse",
        "key",
        "loops",
        "number",
        "reseed",
        "snapshot",
        "tried",
        "troubled",
    )

    def __init__(self, key: Hashable, number: int, actions: tuple[Action, ...], snapshot: Snapshot | None) -> None:
        self.key = key
        self.number = number
        """How many situations were entered before."""
        self.actions = actions
        self.snapshot = snapshot
        self.tried = 0
        self.troubled: dict[Action, bool] = {}
        """Actions that led to dead ends, and whether all those are proven doomed."""
        self.loops = 0
        """Tries that led back to the open path."""
        self.doomed = bool(actions)
        self.fuse = 0
        self.followed: list[tuple[Action, Hashable]] = []
        """Where each try led: a name or an end."""
        self.endings = [0] * len(ENDINGS)
        self.reseed = 0

    def dead_end(self, action: Action, *, proven: bool) -> None:
        """Count a try that led to one."""
        self.troubled[action] = proven and self.troubled.get(action, True)
        self.doomed = self.doomed and proven
