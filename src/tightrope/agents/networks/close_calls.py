"""Batches of any size: what must not depend on the batch is the action, not the last digits of the scores.

A network is asked about all rows at once. Where the decision is further from another one than rounding can move it, it
stands; a row whose decision is closer is decided by an arbiter, which is asked about it alone. The arbiter is the
network in double precision where that can be had (torch), so that the decision is the same on every processor too;
elsewhere it is the network itself.

How far rounding moves scores is measured when the agent is loaded, and multiplied by ``SAFETY``. The arbiter's answers
measure it again, and the bound grows with what they show. It decides what is asked twice, never what the answer is, as
long as it holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.agents.networks.batch_invariance import Arrays, Network

SAFETY = 64.0
"""Times the largest error seen."""
LEAST = 2.0**-23
"""Of a score's size: the last digit of a number of 32 bits. An error is never taken to be smaller."""
LARGEST = 1e-4
"""Of a score's size: a network that answers batches otherwise by more does not only round, and is asked row by row."""
MOST_ROWS = 256
"""Of one question."""
ARBITRATED = 16
"""Samples that the arbiter is asked about when the agent is loaded."""


class CloseCalls:
    """How far a network's scores may be off, and who decides where that matters."""

    def __init__(self, network: Network, arbiter: Network, samples: Arrays) -> None:
        self._network, self._arbiter = network, arbiter
        self.asked_again = 0
        """Rows that the arbiter decided."""
        self.share = LEAST
        """The largest error seen, as a share of the largest score of its row."""
        exact = np.concatenate([arbiter(_row(samples, row))[0] for row in range(ARBITRATED)])
        with np.errstate(over="ignore", invalid="ignore"):
            self._usual = float(np.median(np.abs(exact).max(axis=1).astype(np.float64)))
        for size in (1, 3, 8, len(samples[0])):
            found = [network(tuple(part[at : at + size] for part in samples))[0] for at in range(0, ARBITRATED, size)]
            self._learn(np.concatenate(found)[:ARBITRATED], exact)

    @property
    def only_rounds(self) -> bool:
        """Whether batches, and the arbiter, differ in nothing but rounding."""
        return bool(self.share <= LARGEST)  # a NaN is not

    def answers(self, inputs: Arrays) -> Arrays:
        """What the network says, in as few questions as there can be."""
        rows = len(inputs[0])
        parts = [self._network(tuple(part[at : at + MOST_ROWS] for part in inputs)) for at in range(0, rows, MOST_ROWS)]
        return parts[0] if len(parts) == 1 else tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    def errors(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """By how much the scores of each row may be off."""
        with np.errstate(over="ignore"):
            bound: NDArray[np.float64] = SAFETY * self.share * self._scale(scores)
        return bound

    def decided(self, row: Arrays, scores: NDArray[Any]) -> Arrays:
        """The arbiter's answer for a row, whose scores were these."""
        self.asked_again += 1
        outputs = self._arbiter(row)
        # Scores that are not finite say nothing about rounding, and must not make the bound useless for all others.
        if np.isfinite(scores).all() and np.isfinite(outputs[0]).all():
            self._learn(scores, outputs[0])
        return outputs

    def _learn(self, scores: NDArray[Any], exact: NDArray[Any]) -> None:
        # What comes of infinite weights is no number, and then batches are not used at all.
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            off = np.abs(scores.astype(np.float64) - exact).max(axis=1) / self._scale(exact)
            self.share = float(np.maximum(self.share, off.max()))

    def _scale(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """What errors are measured by: the largest score of a row, and not less than usual, as sums may cancel out."""
        scale: NDArray[np.float64] = np.maximum(np.abs(scores).max(axis=1).astype(np.float64), self._usual)
        return scale


def _row(inputs: Arrays, row: int) -> Arrays:
    return tuple(part[row : row + 1] for part in inputs)
