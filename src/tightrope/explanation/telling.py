"""Moments of an episode in few words: what was done, seen and wanted."""

from __future__ import annotations

from collections.abc import Sequence

from tightrope.explanation.closeup import CloseUp, Instant
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


def values_of(instant: Instant | None, seen: CloseUp | None) -> str:
    """What was seen there: ``position 0.12, angle -0.03``; of many numbers rather those that change around there."""
    if instant is None or seen is None or not instant.values:
        return ""
    told = [f"{seen.names[index]} {instant.values[index]:.4g}" for index in _worth_telling(seen)]
    return ", ".join(told) + (", …" if len(instant.values) > len(told) else "")


def _worth_telling(seen: CloseUp) -> list[int]:
    moments = [each.values for each in (*seen.fail, *seen.escape) if each.values]
    stays = [len(set(numbers)) == 1 for _, *numbers in zip(seen.names, *moments, strict=False)]
    return sorted(sorted(range(len(stays)), key=stays.__getitem__)[:MOST_TOLD])


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
