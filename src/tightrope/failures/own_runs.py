"""Runs of the agent that nobody disturbs: one that fails is found, any other can be disturbed, and the first."""

from __future__ import annotations

from collections.abc import Hashable

from tightrope.budget import Meter
from tightrope.execution import Rollout
from tightrope.failures.bandit import Arms
from tightrope.failures.ledger import Ledger
from tightrope.failures.moments import price
from tightrope.failures.result import Disturbance
from tightrope.failures.tries import RESET, Tries
from tightrope.failures.worth import Worth
from tightrope.outcome import Outcome
from tightrope.seeding import derive_seed
from tightrope.trace import ActionTrace

ALL_ALIKE = 3
"""Runs in a row that are like earlier ones, after which no other reset is tried: all of them are one."""


class OwnRuns:
    """Plays them from one reset after the other.

    Args:
        ledger: Where they are counted.
        tries: Gets those that can be disturbed.
        arms: Learns what they are worth.
        worth: Judges those that fail.
    """

    def __init__(self, ledger: Ledger, tries: Tries, arms: Arms, worth: Worth) -> None:
        self._ledger, self._tries, self._arms, self._worth = ledger, tries, arms, worth
        self._met: set[tuple[Hashable, ...]] = set()
        self._repeated = 0
        self._steps = 0
        self.played = 0

    @property
    def all_alike(self) -> bool:
        """Whether every reset seems to lead to the same world."""
        return self._repeated >= ALL_ALIKE

    @property
    def usual_steps(self) -> float:
        """Steps of one, on average."""
        return max(1, self._steps) / max(1, self.played)

    def play_first(self, count: int, share: Meter) -> None:
        """Up to so many, as far as they fit into a share of the budget by the length of those before; one at least."""
        for _ in range(count):
            left = share.remaining().steps
            usual = share.steps / max(1, self.played)
            if share.spent or self.all_alike or (left is not None and usual > left):
                return
            before = self._ledger.meter.steps
            self.play()
            share.spend(self._ledger.meter.steps - before)

    def play(self, *, disturbed: bool = True) -> bool:
        """One from another reset. False: it showed nothing. ``disturbed``: whether it may be disturbed later."""
        ledger, number = self._ledger, self.played
        self.played += 1
        reset = self._tries.reset(number)
        start, seed = ActionTrace(ledger.engine.task.label, reset), derive_seed("failure run", ledger.seed, number)
        plain = Rollout(start=start, agent=ledger.agent, seed=seed, fixed_prefix=True, record_keys=True)
        [episode] = ledger.run([plain])
        ledger.count([episode])
        if episode.error is not None or not episode.actions:
            return False
        cost = price(ledger.engine, [episode])
        self._steps += cost
        # Where every reset is the same, every run is the one before: the same failure again is no failure found.
        shown = (episode.checksum, episode.actions, episode.rewards, episode.outcome)
        if shown in self._met:
            self._arms.learn((RESET,), 0.0, cost)
            self._repeated += 1
            if episode.outcome is Outcome.UNSAFE:
                self._worth.again(episode)
                ledger.failed_again += 1
            return False
        self._repeated = 0
        self._met.add(shown)
        undisturbed = Disturbance(reset=reset, depth=0)
        failed = ledger.note(episode, undisturbed)
        self._arms.learn((RESET,), self._worth.of(episode, RESET) if failed else 0.0, cost)
        # Where it fails in all of them, what lies beyond is met by disturbing one that failed.
        if not self._tries.runs or (disturbed and not failed):
            self._tries.add(episode, undisturbed)
        return True
