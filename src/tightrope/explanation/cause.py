"""What loses fails that no single decision is to blame for."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """Where chance decides: what lost a fail that no single decision is to blame for."""

    LOST = "nobody survives"
    """When it took over, nobody who was tried survived."""
    LITTLE_BY_LITTLE = "little by little"
    """Many of its decisions, each of which gave a little away."""
    WORSE = "others do better"
    """Others survive more often from where it took over; at which decision it parts from them was not found."""
    UNBEATEN = "nobody does better"
    """Of those who were tried from where it took over, it survives most often itself."""
    LUCK = "bad luck"
    """Its decisions gave hardly anything away."""
    OPEN = "not decided"
    """Nobody was shown to do better, and nobody was shown not to."""
