"""A way out by random actions from a situation, and back by more steps the longer no way leads on.

Held actions survive where standing still does, and trying every sequence ends where there are few of them. Between the
two lie tasks that must be steered all the time: there most random ways end in harm soon, but from a little further back
some of them lead on, and from their ends others. What is found is a way that was played; nothing is proven by it.
"""

from __future__ import annotations

import numpy as np

from tightrope.outcome import Outcome
from tightrope.simulation import Simulator, Snapshot
from tightrope.trace import Action

LONGEST_HOLDS = (1, 2, 4, 8)
"""Steps that an action is held at most, drawn for each way: some tasks are steered by taps, some answer to nothing
shorter than a pull."""
PATIENCE = 2
"""Ways from about the same distance that end in harm, after which the next begins twice as far back."""


def find_random_way(
    simulator: Simulator,
    start: Snapshot,
    actions: tuple[Action, ...],
    length: int,
    effort: int,
    rng: np.random.Generator,
) -> tuple[Action, ...] | None:
    """Actions that survive ``length`` steps from here, or to an end without harm; None: not found with this effort.

    The simulator must be able to save situations; it stands anywhere afterwards.
    """
    simulator.load(start)
    return _Feeling(simulator, start, actions, length, rng).search(effort)


class _Feeling:
    def __init__(
        self, simulator: Simulator, start: Snapshot, actions: tuple[Action, ...], length: int, rng: np.random.Generator
    ) -> None:
        self.simulator, self.actions, self.length, self.rng = simulator, actions, length, rng
        self._saved = [start]
        self._played: list[Action] = []
        self._back, self._farthest, self._in_vain = 1, 0, 0

    def search(self, effort: int) -> tuple[Action, ...] | None:
        """Go on, and back after each harm, until the end is reached or the effort is spent."""
        left = effort
        while left > 0:
            before = len(self._played)
            if self._go_on(left):
                return tuple(self._played)
            left -= max(1, len(self._played) - before)
            self._go_back()
        return None

    def _go_on(self, most: int) -> bool:
        """One way of held actions; True when it survives long enough."""
        simulator, longest = self.simulator, LONGEST_HOLDS[self.rng.integers(len(LONGEST_HOLDS))]
        for _ in range(most):
            available = simulator.available_actions(self.actions)
            if not available:
                return False
            action = available[self.rng.integers(len(available))]
            for _ in range(int(self.rng.integers(1, longest + 1))):
                simulator.advance(action)
                self._played.append(action)
                if simulator.outcome is Outcome.UNSAFE:
                    return False
                if simulator.outcome.terminal or len(self._played) == self.length:
                    return True
                self._saved.append(simulator.save())
                if action not in simulator.available_actions(self.actions):
                    break
        return False

    def _go_back(self) -> None:
        """Farther where ways end at the same distance again and again; near where the last came farther than all."""
        reached = len(self._played)
        if reached > self._farthest:
            self._farthest, self._back, self._in_vain = reached, 1, 0
        else:
            self._in_vain += 1
            if self._in_vain % PATIENCE == 0:
                self._back *= 2
        kept = max(0, reached - 1 - int(self.rng.integers(0, self._back + 1)))
        if self._back > 2 * self._farthest:
            self._back = 1
        del self._played[kept:], self._saved[kept + 1 :]
        self.simulator.load(self._saved[kept])
