"""An agent that goes on only when it is let."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.sample_agents import careful

GATE = "TIGHTROPE_TEST_GATE"


def patient() -> Callable[[Any], int]:
    """The careful agent; once the run beside it has begun, it waits for the file that the variable names."""
    answer = careful()

    def act(observation: Any) -> int:
        gate = Path(os.environ[GATE])
        while (gate.parent / "run" / "run.json").exists() and not gate.exists():
            time.sleep(0.05)
        return answer(observation)

    return act
