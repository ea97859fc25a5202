"""What a reader must know about estimates of risk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tightrope.cli.output.interface import Interface

if TYPE_CHECKING:
    from tightrope.risk import FailureEstimate


def say_reservations(interface: Interface, risks: Iterable[FailureEstimate]) -> None:
    """What each takes for granted, and what went wrong with it."""
    for risk in risks:
        if reserved := risk.reservation():
            interface.say(reserved)
        for note in risk.notes:
            interface.say(f"{risk.agent}: {note}.")
