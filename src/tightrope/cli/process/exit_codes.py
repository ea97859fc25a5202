"""What a command says of itself to a shell or a CI server."""

from __future__ import annotations

PASSED, GATE_FAILED, WRONG_USE, NOTHING_JUDGED, INTERRUPTED = 0, 1, 2, 3, 130
CODES = (PASSED, GATE_FAILED, WRONG_USE, NOTHING_JUDGED, INTERRUPTED)
