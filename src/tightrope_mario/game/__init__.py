"""Super Mario Bros. on stable-retro's FCEUmm core."""

from __future__ import annotations

from tightrope_mario.game.actions import ACTION_SETS
from tightrope_mario.game.environment import MarioEnv
from tightrope_mario.game.levels import LEVEL_NAMES
from tightrope_mario.game.task import mario_task

__all__ = ["ACTION_SETS", "LEVEL_NAMES", "MarioEnv", "mario_task"]
