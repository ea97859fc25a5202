"""Super Mario Bros. on stable-retro's FCEUmm core."""

from __future__ import annotations

from tightrope.tasks.mario.actions import ACTION_SETS
from tightrope.tasks.mario.environment import MarioEnv
from tightrope.tasks.mario.levels import LEVEL_NAMES
from tightrope.tasks.mario.task import mario_task

__all__ = ["ACTION_SETS", "LEVEL_NAMES", "MarioEnv", "mario_task"]
