"""Agents for tests, named on command lines as ``tests.sample_agents:zigzag``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

DOWN, RIGHT = 1, 2


def zigzag() -> Callable[[Any], int]:
    """FrozenLake: right on even squares, down on odd ones; falls here and there."""
    return lambda observation: RIGHT if observation % 2 == 0 else DOWN


def careful() -> Callable[[Any], int]:
    """FrozenLake 4×4: a way around every hole, from any square that is none."""
    safe = {0: 1, 1: 2, 2: 1, 3: 0, 4: 1, 6: 1, 8: 2, 9: 1, 10: 1, 13: 2, 14: 2}
    return lambda observation: safe.get(int(observation), DOWN)


def drifting() -> Callable[[Any], int]:
    """CartPole: keeps the pole up wherever it is handed over, and lets the cart roll out of sight."""
    return lambda observation: int(observation[2] + 0.3 * observation[3] + 0.06 > 0)


def moody() -> Callable[[Any], int]:
    """Raises unless the variable MOOD says that all is well."""

    def answer(observation: Any) -> int:
        if os.environ.get("MOOD") != "good":
            raise RuntimeError("not today")
        return DOWN

    return answer


def shaky() -> Callable[[Any], int]:
    """FrozenLake 4×4: careful on its last row, and raises everywhere else."""
    known = careful()

    def answer(observation: Any) -> int:
        if observation < 12:
            raise RuntimeError("only the last row is known")
        return known(observation)

    return answer
