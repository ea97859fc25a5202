"""Button combinations and the named sets of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import TaskError, UnknownName

BUTTONS = ("B", None, "select", "start", "up", "down", "left", "right", "A")
"""The order in which the emulator takes them."""

PLAYABLE = tuple(button for button in BUTTONS if button and button not in ("select", "start"))

ACTION_SETS: dict[str, tuple[str, ...]] = {
    "2-moves": ("right+B", "right+A+B"),
    "basic": ("none", "right", "right+A", "right+B", "right+A+B", "A", "left"),
    "right-complex": ("none", "right", "right+A", "right+B", "right+A+B", "A", "down", "up"),
    "combined": ("none", "right", "right+A", "right+B", "right+A+B", "A", "left", "down", "up"),
    "2-moves-and-back": ("right+B", "right+A+B", "A", "left+B"),
    "2-moves-and-leap": ("right+B", "right+A+B", "left+A+B"),
    "maze": ("right+B", "right+A+B", "right", "none", "A", "left", "left+A+B", "down"),
    "wide": (
        "right+B",
        "right+A+B",
        "right",
        "right+A",
        "none",
        "A",
        "left",
        "left+A",
        "left+B",
        "left+A+B",
        "down",
        "up",
    ),
}
"""The first three are the case study's agents'; ``combined`` holds them all, so that agents of different sets can share
a task; the others are for searching levels that need more than running right."""

SEARCH_SET = "2-moves"
"""What the case study searches with, whatever the agent can do."""


def action_names(actions: str | Sequence[str]) -> tuple[str, ...]:
    """Resolve the name of an action set, or check a sequence of combinations such as ``"right+A"``."""
    if isinstance(actions, str):
        if actions not in ACTION_SETS:
            raise UnknownName("set of Mario actions", actions, ACTION_SETS)
        return ACTION_SETS[actions]
    names = tuple(actions)
    if not names or len(set(names)) != len(names):
        raise TaskError(f"a set of Mario actions holds one or more different combinations, not {names!r}")
    for name in names:
        buttons(name)
    return names


@cache
def buttons(name: str) -> NDArray[np.uint8]:
    """The emulator's button mask of a combination; the same object each time, so it can be told by identity."""
    mask = np.zeros(len(BUTTONS), np.uint8)
    for button in name.split("+") if name != "none" else ():
        if button not in PLAYABLE:
            raise UnknownName("button", button, PLAYABLE, "Join buttons with '+', as in 'right+A'.")
        mask[BUTTONS.index(button)] = 1
    mask.setflags(write=False)
    return mask


@cache
def start_button() -> NDArray[np.uint8]:
    """START alone, which no action set offers."""
    mask = np.zeros(len(BUTTONS), np.uint8)
    mask[BUTTONS.index("start")] = 1
    mask.setflags(write=False)
    return mask


def positions_in(wanted: str | Sequence[str], offered: str | Sequence[str]) -> tuple[int, ...]:
    """The indices, in one action set, of the combinations of another."""
    names, known = action_names(wanted), action_names(offered)
    missing = [name for name in names if name not in known]
    if missing:
        raise TaskError(
            f"the search actions {missing} are not among the task's actions {list(known)}; "
            f"search with combinations that the action set offers, or choose a wider set"
        )
    return tuple(known.index(name) for name in names)
