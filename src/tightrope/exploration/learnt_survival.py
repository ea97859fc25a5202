"""How often a learnt policy survives in a small task: from every situation, after every action, and how sure that is.

Runs of one policy say how often it survives where they began. Counted step by step they say it of every situation they
passed, and thousands of steps from all over the task make each of these numbers far surer than its own few runs. The
policy was learnt from other runs than these, so that a decision does not look worse because others were lucky. What
rests on it is as right as the keys: two situations with one key are taken for one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tightrope.exploration.learnt_model import Transitions
from tightrope.exploration.policies import ByTable
from tightrope.outcome import Outcome
from tightrope.seeding import generator, stable_hash
from tightrope.trace import Action

REDRAWN = 60
"""Times that the counts are drawn again to see how sure they are: enough for limits that leave out 2.5 % each side."""
UNSEEN = 0.5
"""Weight of harm, and of no harm, that an action may do besides what was seen of it (Jeffreys): of one that never did
harm in ten tries it is not certain that it never does."""

Floats = NDArray[np.float64]
Decision = tuple[int, Action]
"""The hash of a state key, and what was played there."""


class LearntSurvival:
    """The policy in the counted model: its survival before decisions and after them."""

    def __init__(self, seen: Transitions, others: Transitions, policy: ByTable, length: int) -> None:
        """``seen``: what is counted; ``others``: what is taken for a situation and action that it does not have."""
        counts = dict(others.counts) | {source: targets for source, targets in seen.counts.items() if targets}
        keys = dict.fromkeys(key for key, _ in counts)
        self.rows = {key: row for row, key in enumerate(keys)}
        self.numbers = {action: number for number, action in enumerate(dict.fromkeys(action for _, action in counts))}
        self.hashes = {stable_hash(key): row for key, row in self.rows.items()}
        self._fill(counts)
        self.choices = self._chosen(policy, length)
        self.steps, self.length = seen.steps, length

    def _fill(self, counts: Mapping[tuple[Hashable, Action], Counter[Hashable]]) -> None:
        # Behind the situations stand the safe end, the unsafe one, and what nobody has gone on from: that is harm.
        known = len(self.rows)
        ends = dict.fromkeys(Outcome, known) | {Outcome.UNSAFE: known + 1}
        entries = [
            (
                self.rows[key] * len(self.numbers) + self.numbers[action],
                ends[target] if isinstance(target, Outcome) else self.rows.get(target, known + 1),
                count,
            )
            for (key, action), targets in counts.items()
            for target, count in targets.items()
        ]
        self._pairs, self._targets, amounts = (np.array(column) for column in zip(*entries, strict=True))
        self._counts = amounts.astype(np.float64)

    def _chosen(self, policy: ByTable, length: int) -> NDArray[np.int64]:
        """What the policy plays with 1, 2, … steps to go: the number of the pair; where it knows nothing, -1."""
        chosen = np.full((length, len(self.rows)), -1, dtype=np.int64)
        for key, row in self.rows.items():
            table = policy.table.get(key, ())
            for left in range(length) if table else ():
                number = self.numbers.get(table[min(left, len(table) - 1)], -1)
                chosen[left, row] = row * len(self.numbers) + number if number >= 0 else -1
        return chosen

    def of(self, decisions: Sequence[Decision]) -> tuple[Floats, Floats]:
        """Survival before and after each decision: the first row as counted, the others with counts drawn again.

        Not a number where a decision was never seen.
        """
        rng = generator("learnt survival", self.steps)
        before, after = np.empty((2, REDRAWN + 1, len(decisions)))
        for place in range(REDRAWN + 1):
            weights = self._counts if place == 0 else rng.gamma(self._counts)
            before[place], after[place] = self._survival(weights, decisions, rng if place else None)
        # Shares of one whole may add up to a little more than it.
        return before.clip(0.0, 1.0), after.clip(0.0, 1.0)

    def _survival(
        self, weights: Floats, decisions: Sequence[Decision], rng: np.random.Generator | None
    ) -> tuple[Floats, Floats]:
        """With these weights of what follows."""
        pairs = len(self.rows) * len(self.numbers)
        total = np.bincount(self._pairs, weights, pairs)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = weights / total[self._pairs]
        values = np.ones(len(self.rows) + 2)
        values[-1] = 0.0
        after: Floats = np.zeros(pairs)
        for left in range(self.length):
            after = np.bincount(self._pairs, shares * values[self._targets], pairs).astype(np.float64)
            chosen = self.choices[left]
            now = np.where(chosen >= 0, after[chosen], 0.0)
            values = np.concatenate([now, values[-2:]])
        places = [self._place(decision) for decision in decisions]
        known = np.array([place is not None and total[place] > 0 for place in places], dtype=bool)
        at = np.array([0 if place is None else place for place in places], dtype=np.int64)
        followed = after[at]
        if rng is not None:
            safe, unsafe = rng.gamma(UNSEEN, size=(2, len(at)))
            doubted = (followed * total[at] + safe) / (total[at] + safe + unsafe)
            # What the policy itself plays there is no worse than the policy, however little is known of it.
            followed = np.where(self.choices[-1, at // len(self.numbers)] == at, followed, doubted)
        return (
            np.where(known, values[at // len(self.numbers)], np.nan),
            np.where(known, followed, np.nan),
        )

    def _place(self, decision: Decision) -> int | None:
        row, number = self.hashes.get(decision[0]), self.numbers.get(decision[1])
        return None if row is None or number is None else row * len(self.numbers) + number
