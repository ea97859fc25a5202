"""What a frame is worth: pure functions of the memory before and after it.

*Dense* is gym-super-mario-bros's reward without its clipping. *Sparse* pays for parts of the level, enemies and
power-ups. Both charge 25 for dying.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tightrope.errors import UnknownName
from tightrope_mario.game import ram

DEATH = -25.0
LARGEST_MOVE = 5
"""Mario moves at most 3 pixels a frame; a larger change is a jump to another place, which earns nothing."""
SEGMENTS = 5
SEGMENT_REWARD = 10.0
ENEMY_REWARD = 1.0
POWER_UP_REWARD = 10.0

Reward: TypeAlias = Callable[[bytes, bytes, int, int], float]
"""``f(before, after, furthest x so far, length of the level)``."""


def dense(before: bytes, after: bytes, furthest: int, length: int) -> float:
    """Pixels moved to the right, minus ticks of the clock, minus 25 for dying."""
    moved = ram.x(after) - ram.x(before)
    reward = moved if -LARGEST_MOVE <= moved <= LARGEST_MOVE else 0
    ticked = ram.clock(after) - ram.clock(before)
    if ticked < 0:
        reward += ticked
    return reward + DEATH if ram.dying(after) else float(reward)


def sparse(before: bytes, after: bytes, furthest: int, length: int) -> float:
    """10 per fifth of the level entered or won, 1 per enemy, 10 per power-up, minus 25 for dying."""
    reached = SEGMENTS if ram.flag(after) else segments_passed(ram.x(after), length)
    reward = SEGMENT_REWARD * max(0, reached - segments_passed(furthest, length))
    reward += ENEMY_REWARD * ram.defeated(before, after)
    reward += POWER_UP_REWARD * ram.power_up_taken(before, after)
    return reward + DEATH if ram.dying(after) else reward


def segments_passed(x: int, length: int) -> int:
    """How many whole fifths of the level lie behind x; the last one counts only with the flag."""
    return min(SEGMENTS - 1, x * SEGMENTS // length)


REWARDS: dict[str, Reward] = {"dense": dense, "sparse": sparse}


def find_reward(name: str) -> Reward:
    """Look a reward up by its name."""
    if name not in REWARDS:
        raise UnknownName("Mario reward", name, REWARDS)
    return REWARDS[name]
