"""How far the run has come that a live page is served beside, and who has seen it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

SECONDS_OF_INTEREST = 3.0
"""A page asks every second; one that has not for so long is closed, or hangs."""
SECONDS_TO_LINGER = 10.0
"""For an open page to load what the run ended with; after that the command ends, whatever the page does."""

SECONDS_TO_ARRIVE = 0.3
"""For the last answer."""


@dataclass(kw_only=True)
class State:
    """What the command told last, and when a page asked."""

    words: str = ""
    share: float | None = None
    """How much of the whole is done."""
    over: bool = False
    _asked: float = float("-inf")
    _ready: threading.Event = field(default_factory=threading.Event)

    def told(self) -> dict[str, Any]:
        """What a page is told."""
        return {"told": self.words, "share": self.share, "over": self.over}

    def seen(self, latest: bool) -> None:
        """A page asked, and shows what there is now, or something earlier."""
        self._asked = time.monotonic()
        if latest and self.over:
            self._ready.set()

    def linger(self) -> None:
        """Wait until an open page shows the end; not where none is open, and not for long."""
        if time.monotonic() - self._asked < SECONDS_OF_INTEREST:
            self._ready.wait(SECONDS_TO_LINGER)
            time.sleep(SECONDS_TO_ARRIVE)
