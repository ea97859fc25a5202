"""How far returns may reach: what episodes had earned on the way, and what it brought them to end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from tightrope.outcome import Outcome
from tightrope.statistics.bounded import Bounds

COST_OF_A_FAIL_NOT_KNOWN = (
    "no episode failed, and this task pays for how an episode ends, so what a fail would cost is not known: no interval"
)


@dataclass(frozen=True, kw_only=True)
class Earnings:
    """What one or many episodes earned, up to each of their steps.

    Where each fiftieth episode fails, a hundred show none that does in one sample of seven. What they had earned on the
    way says what ending there would have brought; what the last step of a fail is paid is known from fails alone.
    """

    reach: Bounds
    """The least and the greatest sum of rewards up to any step, the last one among them."""
    least_before: float
    """The least sum before any step: where a fail would hurt most."""
    steps: Bounds | None = None
    """The least and the greatest reward of a step that was not the last; None: there was none."""
    goals: Bounds | None = None
    """The same of steps that reached the goal."""
    fails: Bounds | None = None
    """The same of steps that failed."""

    @classmethod
    def of(cls, rewards: Sequence[float], outcome: Outcome, before: float = 0.0) -> Earnings:
        """Of one episode, which had earned ``before`` when it began."""
        sums = list(accumulate(rewards, initial=before))
        last = (rewards[-1], rewards[-1]) if rewards else None
        return cls(
            reach=(min(sums[1:] or sums), max(sums[1:] or sums)),
            least_before=min(sums[:-1] or sums),
            steps=(min(rewards[:-1]), max(rewards[:-1])) if len(rewards) > 1 else None,
            goals=last if outcome is Outcome.GOAL else None,
            fails=last if outcome is Outcome.UNSAFE else None,
        )

    @classmethod
    def joined(cls, parts: Iterable[Earnings]) -> Earnings | None:
        """Of all these together; None: there are none."""
        known = list(parts)
        if not known:
            return None
        return cls(
            reach=(min(part.reach[0] for part in known), max(part.reach[1] for part in known)),
            least_before=min(part.least_before for part in known),
            steps=_hull(part.steps for part in known),
            goals=_hull(part.goals for part in known),
            fails=_hull(part.fails for part in known),
        )

    @property
    def bounds(self) -> Bounds | str:
        """Within what another such return lies, should it end earlier than any or fail at the worst moment; or why
        nobody can say."""
        if self.fails is None:
            return COST_OF_A_FAIL_NOT_KNOWN if self._ends_are_paid else self.reach
        return min(self.reach[0], self.least_before + self.fails[0]), self.reach[1]

    @property
    def _ends_are_paid(self) -> bool:
        """Whether reaching the goal brought what no other step did: then failing may cost what no other step does."""
        if self.goals is None:
            return False
        return self.steps is None or self.goals[0] < self.steps[0] or self.goals[1] > self.steps[1]


def _hull(bounds: Iterable[Bounds | None]) -> Bounds | None:
    known = [each for each in bounds if each is not None]
    return (min(low for low, _ in known), max(high for _, high in known)) if known else None
