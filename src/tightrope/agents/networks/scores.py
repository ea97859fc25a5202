"""What can be read off a row of scores: which action is best, which is drawn, how likely each is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tightrope.agents.behaviour import allowed_actions
from tightrope.agents.preferences import Meaning, Preferences
from tightrope.errors import AgentFailure
from tightrope.trace import Action

Scores: TypeAlias = NDArray[Any]

MOST_LISTED = 64
"""Actions put together from parts for which numbers are given: nobody reads a longer list."""


def checked(output: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """A network's output, if it has the shape the action space asks for and no NaN in it."""
    if output.shape[1:] != shape:
        raise AgentFailure(
            f"the network answers with shape {output.shape[1:]} for each observation, "
            f"and the task's action space takes {shape}"
        )
    if np.isnan(output).any():
        raise AgentFailure("the network answered NaN; look for NaN or infinite values in its weights and observations")
    return output


def masked(scores: Scores, mask: Any) -> Scores:
    """The scores with those of actions that the mask rules out as low as can be."""
    if mask is None:
        return scores
    allowed = allowed_actions(mask, len(scores))
    kept = np.full(len(scores), -np.inf)
    kept[allowed] = scores[allowed]
    return kept


def softmax(scores: Scores) -> Scores:
    """How likely each action is."""
    weights = np.exp(scores.astype(np.float64) - scores.max())
    shares: Scores = weights / weights.sum()
    return shares


def joint(parts: Sequence[Scores], encoded: Callable[[Sequence[int]], Action]) -> Preferences | None:
    """How likely every action is whose parts are drawn apart from each other; what is ruled out is left out."""
    if prod(map(len, parts)) > MOST_LISTED:
        return None
    numbers = {
        encoded(chosen): likely
        for chosen in product(*(range(len(part)) for part in parts))
        if (likely := prod(float(part[index]) for part, index in zip(parts, chosen, strict=True)))
    }
    return Preferences(meaning=Meaning.PROBABILITIES, by_action=numbers)


def argmax(scores: Scores) -> int:
    """The place of the best score; of equal ones the first."""
    return int(scores.argmax())


def draw(scores: Scores, generator: np.random.Generator) -> int:
    """A place drawn by softmax."""
    return drawn_by(scores, generator.random())[0]


def drawn_by(scores: Scores, share: float) -> tuple[int, float]:
    """The place that a number from 0 to 1 draws by softmax, and its distance from the next place's numbers."""
    weights = np.exp(scores.astype(np.float64) - scores.max())
    totals = np.cumsum(weights)
    drawn = share * totals[-1]
    # The last total may fall short of a draw by rounding; the side keeps actions of weight 0 from being drawn.
    place = min(int(np.searchsorted(totals, drawn, side="right")), len(scores) - 1)
    return place, float(np.abs(totals[:-1] - drawn).min(initial=totals[-1]) / totals[-1])


def lead_of(scores: Scores) -> NDArray[Any]:
    """By how much the best of each row leads; where there is no other, by anything."""
    if scores.shape[1] < 2:
        return np.full(len(scores), np.inf)
    second, best = np.partition(scores, -2, axis=1)[:, -2:].T
    with np.errstate(invalid="ignore"):  # two that are infinite
        lead: NDArray[Any] = best - second
    return lead
