"""Words for numbers and actions: the same in the HTML, the Markdown and the JUnit file; the script is given them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tightrope.statistics.words import (
    NBSP,
    NO_DATA,
    THIN,
    change_text,
    count,
    estimate_text,
    interval_text,
    least_text,
    number,
    part_text,
    percent,
    typeset,
    value_text,
)
from tightrope.trace import Action, action_text

__all__ = [
    "NBSP",
    "NO_DATA",
    "THIN",
    "action_text",
    "actions_text",
    "change_text",
    "count",
    "counts_text",
    "estimate_text",
    "interval_text",
    "least_text",
    "listed",
    "number",
    "part_text",
    "percent",
    "settings_text",
    "typeset",
    "value_text",
]


def listed(words: Sequence[str]) -> str:
    """``#9, #6 and #10``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "")))


def counts_text(counts: Mapping[str, int]) -> str:
    """``unsafe ×3, stuck ×1``."""
    return ", ".join(f"{kind} ×{times}" for kind, times in counts.items() if times)


def settings_text(settings: Mapping[str, Any]) -> str:
    """``population 20 · weights 2, 1.5, 1``: those that were given, in words."""
    return " · ".join(
        f"{name.replace('_', ' ')} {_setting(value)}" for name, value in settings.items() if value is not None
    )


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_setting, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def actions_text(actions: tuple[Action, ...], names: tuple[str, ...] = ()) -> str:
    """A run of actions, repetitions counted: ``right ×3, jump``."""
    runs: list[tuple[str, int]] = []
    for text in (action_text(action, names) for action in actions):
        if runs and runs[-1][0] == text:
            runs[-1] = (text, runs[-1][1] + 1)
        else:
            runs.append((text, 1))
    return ", ".join(text if times == 1 else f"{text} ×{times}" for text, times in runs)
