"""How a situation came about: a linked list of events ``(earlier, event)`` ending in ``(None, reset seed)``.

Saving a situation so costs nothing in the length of the way to it.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Reseed(NamedTuple):
    """An event in a history: the random generators were set anew."""

    seed: int


def events_of(history: Any) -> list[Any]:
    """The reset seed, then every action and reseeding, in their order."""
    events = []
    while history is not None:
        history, event = history
        events.append(event)
    return events[::-1]


def reset_seed_of(history: Any) -> int:
    """The seed of the reset that a history begins with."""
    earlier, event = history
    while earlier is not None:
        earlier, event = earlier
    return event  # type: ignore[no-any-return]
