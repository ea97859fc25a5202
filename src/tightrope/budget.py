"""Limits on work. Every loop takes a budget and says why it ended."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tightrope.settings import Natural, Weight, require


@dataclass(frozen=True, kw_only=True)
class Budget:
    """At most so many seconds and so many environment steps; ``None`` is no limit."""

    seconds: float | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        for name, value, kind in (("seconds", self.seconds, Weight), ("steps", self.steps, Natural)):
            if value is not None:
                require(f"a budget's {name}", value, kind, "; leave it out for no limit")

    def start(self) -> Meter:
        """Begin to count against this budget."""
        return Meter(self)

    def share(self, fraction: float) -> Budget:
        """The given fraction of this budget."""
        return Budget(
            seconds=None if self.seconds is None else self.seconds * fraction,
            steps=None if self.steps is None else int(self.steps * fraction),
        )


class Meter:
    """A running budget: ``spend`` steps, ask ``spent``."""

    __slots__ = ("_deadline", "_max_steps", "budget", "started", "steps")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.started = time.monotonic()
        self.steps = 0
        self._deadline = None if budget.seconds is None else self.started + budget.seconds
        self._max_steps = budget.steps

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def spend(self, steps: int = 1) -> None:
        """Count environment steps."""
        self.steps += steps

    @property
    def spent(self) -> bool:
        """Whether a limit has been reached."""
        if self._max_steps is not None and self.steps >= self._max_steps:
            return True
        return self._deadline is not None and time.monotonic() >= self._deadline

    def remaining(self) -> Budget:
        """What is left, as a budget."""
        return Budget(
            seconds=None if self._deadline is None else max(0.0, self._deadline - time.monotonic()),
            steps=None if self._max_steps is None else max(0, self._max_steps - self.steps),
        )
