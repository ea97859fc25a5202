"""A room that is entered in two ways and looks the same: one way, some player leaves it alive. Importable.

From the start, ON leads into a corridor whose only danger is its first step, BACK into a hall. There BACK leads
straight into the room, ON leads there over a detour that hands over a key which nobody sees. In the room, ``CODE``
opens the door for whoever has the key.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from tightrope.tasks import Task

BACK, ON = 0, 1
CODE = (BACK, ON) * 4 + (BACK,)
START, FORK, HALL, DETOUR, ROOM, CORRIDOR, GOAL, HARM = 0, 1, 2, 3, 4, 20, 25, 26


class Aliased(gym.Env[Any, Any]):
    """The observation is the place alone; the key and what was typed are hidden."""

    def __init__(self) -> None:
        self.observation_space, self.action_space = gym.spaces.Discrete(HARM + 1), gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.has_key, self.typed = START, False, ()
        return START, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.place = self._next(int(action))
        return self.place, -1.0, self.place in (GOAL, HARM), False, {}

    def _next(self, action: int) -> int:
        if self.place in (START, DETOUR):
            self.has_key = self.place == DETOUR
            return ROOM if self.has_key else FORK
        if self.place == FORK:
            return CORRIDOR if action == ON else HALL
        if self.place == HALL:
            return DETOUR if action == ON else ROOM
        if self.place >= CORRIDOR:
            return HARM if self.place == CORRIDOR and action == BACK else self.place + 1
        self.typed = (*self.typed, action)
        if len(self.typed) < len(CODE):
            return ROOM + len(self.typed)
        return GOAL if self.has_key and self.typed == CODE else HARM


def aliased() -> Task:
    return Task(
        name="aliased",
        make_env=Aliased,
        goal=lambda t: t.observation == GOAL,
        unsafe=lambda t: t.observation == HARM,
    )


def dumb(observation: Any) -> int:
    return BACK


def clever(observation: Any) -> int:
    return CODE[int(observation) - ROOM] if ROOM <= observation < CORRIDOR else ON


def hasty(observation: Any) -> int:
    """Fails in the room alone."""
    return BACK if ROOM <= observation < CORRIDOR else ON
