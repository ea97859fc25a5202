"""Moments of an episode in few words: what was done, seen and wanted."""

from __future__ import annotations

from collections.abc import Sequence

from tightrope.explanation.closeup import Instant
from tightrope.explanation.words import named

MOST_TOLD = 4
"""Numbers told of one moment, where it has many."""
END = "the end"


def action_of(instant: Instant | None, names: Sequence[str]) -> str:
    """What was done there."""
    if instant is None:
        return ""
    return END if instant.action is None else named(instant.action, names)


def reward_of(instant: Instant | None) -> str:
    """What it brought."""
    return "" if instant is None or instant.reward is None else f"{instant.reward:.4g}"


def values_of(instant: Instant | None, names: Sequence[str]) -> str:
    """What was seen there: ``position 0.12, angle -0.03``."""
    if instant is None:
        return ""
    told = [f"{name} {value:.4g}" for name, value in zip(names, instant.values, strict=False)]
    return ", ".join(told[:MOST_TOLD]) + (", …" if len(told) > MOST_TOLD else "")


def wanted_of(instant: Instant | None, names: Sequence[str]) -> str:
    """What the agent made of its actions there, the best liked first: ``left 93.0%, right 7.0%``."""
    if instant is None or instant.wanted is None:
        return ""
    wanted = instant.wanted
    if wanted.mean is not None:
        spread = f" ± {', '.join(f'{width:.2g}' for width in wanted.spread)}" if wanted.spread else ""
        return f"{named(wanted.mean, names)}{spread}"
    liked = sorted(wanted.by_action, key=lambda action: -wanted.by_action[action])
    told = [f"{named(action, names)} {wanted.told(wanted.by_action[action])}" for action in liked[:MOST_TOLD]]
    return ", ".join(told) + (", …" if len(liked) > MOST_TOLD else "")
