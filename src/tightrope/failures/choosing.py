"""Plain episodes or disturbances: what brings more new causes of failures for its steps gets more steps.

How often a way failed is no measure: a hundred failures can have one cause. The share of failures of a kind that
nothing else has shown is how likely the next one is new (Good and Turing). So kinds that were met once, for all the
steps that a way took, are the rate at which it is to be expected to show new ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tightrope.failures.ledger import Ledger
from tightrope.failures.result import WayTaken
from tightrope.failures.worth import Worth
from tightrope.settings import FailureWay

PLAIN: FailureWay = "plain"
SEARCH: FailureWay = "search"
HOPES: dict[FailureWay, float] = {PLAIN: 0.5, SEARCH: 1.0}
IN_TRIES = 20
"""Before anything is known a way is taken to have brought so many new causes in so many tries: who is disturbed fails
rather more often than who is not. What a try tells is whether the agent fails in it, however long that takes: a
survived run that is long says no more, and costs more."""


class Choosing:
    """Says which way gets the next steps.

    Args:
        ledger: What was played, found and spent.
        worth: Knows which failures are unlike all others.
        dear: Steps that a disturbance is taken to cost at most before any was tried.
    """

    def __init__(self, ledger: Ledger, worth: Worth, dear: int) -> None:
        self._ledger, self._worth, self._dear = ledger, worth, dear
        self._taken: dict[FailureWay, WayTaken] = {way: WayTaken(way=way) for way in (PLAIN, SEARCH)}
        self._now: FailureWay = PLAIN
        self._until = 0.0

    @contextmanager
    def on(self, way: FailureWay) -> Iterator[None]:
        """All that is played and spent here is of this way."""
        before = self._state
        try:
            yield
        finally:
            episodes, failed, steps = (now - then for now, then in zip(self._state, before, strict=True))
            known = self._taken[way]
            self._taken[way] = WayTaken(
                way=way, episodes=known.episodes + episodes, failed=known.failed + failed, steps=known.steps + steps
            )

    def best(self, ways: Sequence[FailureWay]) -> FailureWay:
        """The way of which the most new causes are expected for the next steps."""
        if self._now not in ways or self._ledger.meter.steps >= self._until:
            costs = {way: self._cost(way) for way in self._taken}
            self._now = max(ways, key=lambda way: self._expected(way, costs[way]))
            # Were each choice for one try, the way whose tries are dear would get more.
            self._until = self._ledger.meter.steps + max(costs.values())
        return self._now

    @property
    def taken(self) -> tuple[WayTaken, ...]:
        """What each way took and brought so far."""
        return tuple(replace(each, new=self._worth.new(plain=way == PLAIN)) for way, each in self._taken.items())

    @property
    def _state(self) -> tuple[int, int, int]:
        ledger = self._ledger
        return ledger.episodes, len(ledger.found) + ledger.failed_again, ledger.meter.steps

    def _expected(self, way: FailureWay, cost: float) -> float:
        """New causes for each step."""
        return (HOPES[way] + self._worth.new(plain=way == PLAIN)) / (self._taken[way].steps + IN_TRIES * cost)

    def _cost(self, way: FailureWay) -> float:
        """Steps of one try."""
        taken, plain = self._taken[way], self._taken[PLAIN]
        if taken.episodes:
            return max(1, taken.steps) / taken.episodes
        return min(self._dear, plain.steps / plain.episodes) if plain.episodes else self._dear
