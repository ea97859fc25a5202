"""What is proven about situations: within how many steps harm follows, or how to survive and for how long."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from tightrope.trace import Action


class End(Enum):
    """How a way to survive can end; a member is never equal to a situation's name."""

    GOAL = "goal"
    TRUNCATED = "truncated"
    WATCHED = "watched"
    """Nothing happened for as long as was asked."""


class Way(NamedTuple):
    """An action to survive with, and where it leads."""

    action: Action
    target: Hashable
    """Another surviving situation, or an `End`."""
    steps: float = math.inf
    """How long it is known to survive: for ever where it ends well or in a cycle. A time limit or the end of the watch
    shows no more than the steps up to there."""


@dataclass(frozen=True)
class Witness:
    """Actions that survive, what they lead to, and how many of the last ones can be repeated for ever."""

    actions: tuple[Action, ...]
    ending: str
    loop: int

    def lasting(self, steps: float) -> tuple[Action, ...]:
        """The first ``steps`` of the actions, a cycle at their end run through as often as that takes."""
        actions = self.actions
        while self.loop and len(actions) < steps < math.inf:
            actions += actions[-self.loop :]
        return actions if steps == math.inf else actions[: int(steps)]


@dataclass
class Knowledge:
    """What is proven about situations, by their names."""

    doomed: dict[Hashable, int] = field(default_factory=dict)
    """Within how many steps harm follows, whatever is played."""
    surviving: dict[Hashable, Way] = field(default_factory=dict)

    def update(self, other: Knowledge) -> None:
        """Take over what another search has proven, keeping what was known."""
        self.doomed = {**other.doomed, **self.doomed}
        self.surviving = {**other.surviving, **self.surviving}

    def beyond(self, other: Knowledge) -> Knowledge:
        """What is known here and not there."""
        return Knowledge(
            {name: fuse for name, fuse in self.doomed.items() if name not in other.doomed},
            {name: way for name, way in self.surviving.items() if name not in other.surviving},
        )

    def copy(self) -> Knowledge:
        """The same knowledge, to be added to on its own."""
        return Knowledge(dict(self.doomed), dict(self.surviving))

    def witness(self, situation: Hashable) -> Witness:
        """The actions that survive from a surviving situation, followed to their end."""
        actions: list[Action] = []
        met: dict[Hashable, int] = {}
        while not isinstance(situation, End):
            if situation in met:
                return Witness(tuple(actions), "cycle", len(actions) - met[situation])
            met[situation] = len(actions)
            action, situation, _ = self.surviving[situation]
            actions.append(action)
        return Witness(tuple(actions), situation.value, 0)
