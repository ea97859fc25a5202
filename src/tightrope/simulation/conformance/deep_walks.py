"""Walks that try to last: randomness may begin where uniformly random ones have long ended."""

from __future__ import annotations

import time

import numpy as np

from tightrope.outcome import Outcome
from tightrope.simulation.history import Reseed
from tightrope.simulation.simulator import Simulator
from tightrope.simulation.snapshot import Snapshot
from tightrope.trace import Action

MOST_STEPS = 4000
"""Of all of them together, if there is time for them."""
DEEPEST = 1000
"""Steps after which a walk has lasted; the next one begins at a reset again."""
MARK_EVERY = 4
"""Steps between the places that can be gone back to."""
LONGEST_HABIT = 64
DECISION = 0.3
"""Concentration of how likely each action is in a habit: mostly one of them, now and then, seldom all alike."""
MOST_DRAWING = 4
"""Walks that are kept because something was drawn on them."""

WalkActions = tuple[Action, ...]


class DeepWalks:
    """Goes on from where earlier walks ended, a little before their end, and keeps what lasts longer.

    Actions come by habits: for a while each has its own probability, then others hold. Uniformly random actions cancel
    each other out; few games last on them.

    Args:
        simulator: Of a task that counts as deterministic so far; it is asked whether anything was drawn.
        rng: Decides everything.
    """

    def __init__(self, simulator: Simulator, rng: np.random.Generator) -> None:
        self._simulator, self._rng = simulator, rng
        self._marks: list[Snapshot] = []
        self._longest: dict[int, WalkActions] = {}
        self._drawing: dict[WalkActions, None] = {}
        self.steps = 0

    @property
    def ways(self) -> list[WalkActions]:
        """The actions, from the task's reset on, of walks that drew something, and of the two longest."""
        return list(dict.fromkeys((*self._drawing, *sorted(self._longest.values(), key=len, reverse=True)[:2])))

    @property
    def drew(self) -> bool:
        """Whether anything was drawn, or could have been: not every environment shows it."""
        return bool(self._drawing)

    def go(self, seconds: float) -> None:
        """Walk for so many steps as this file allows, and no longer than so many seconds."""
        deadline = time.perf_counter() + seconds
        number = 0
        while not self._is_spent(deadline):
            self._begin()
            while not self._is_spent(deadline):
                if self._go_on(deadline, number):
                    break
            number += 1

    def _is_spent(self, deadline: float) -> bool:
        counters = self._simulator.counters
        self.steps = counters.steps + counters.replayed_steps
        return self.steps >= MOST_STEPS or time.perf_counter() > deadline

    def _begin(self) -> None:
        self._simulator.reset()
        self._marks = [self._simulator.save()]

    def _go_on(self, deadline: float, number: int) -> bool:
        """Play on from a mark until the episode ends; whether the walk has lasted."""
        simulator = self._simulator
        # Any distance is as likely as its double: the mistake may lie one step back or fifty.
        back = int(2 ** self._rng.uniform(0, np.log2(len(self._marks) + 1)))
        kept = self._marks[: max(1, len(self._marks) + 1 - back)]
        simulator.load(kept[-1])
        while simulator.outcome is Outcome.ONGOING and simulator.depth < DEEPEST and not self._is_spent(deadline):
            self._follow_a_habit(kept)
        way = tuple(event for event in simulator.events()[1:] if not isinstance(event, Reseed))
        if len(self._drawing) < MOST_DRAWING and simulator.has_drawn():
            self._drawing[way] = None
        if len(way) >= len(self._longest.get(number, ())):
            self._longest[number] = way
            self._marks = kept
        return simulator.depth >= DEEPEST or simulator.outcome in (Outcome.TRUNCATED, Outcome.GOAL)

    def _follow_a_habit(self, marks: list[Snapshot]) -> None:
        simulator, rng = self._simulator, self._rng
        actions = simulator.task.search_actions
        weights = rng.dirichlet(np.full(len(actions), DECISION))
        length = int(2 ** rng.uniform(0, np.log2(LONGEST_HABIT)))
        for choice in rng.choice(len(actions), length, p=weights):
            action = actions[choice]
            allowed = simulator.available_actions() or actions
            simulator.step(action if action in allowed else allowed[int(rng.integers(len(allowed)))])
            if simulator.outcome is not Outcome.ONGOING or simulator.depth >= DEEPEST:
                return
            if simulator.depth % MARK_EVERY == 0:
                marks.append(simulator.save())
