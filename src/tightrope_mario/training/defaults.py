"""What the verbs about training do where nothing is said. Nothing is imported here: the command line waits for it."""

from __future__ import annotations

from typing import Literal

LEVEL, ACTIONS, REWARD = "1-1", "2-moves", "dense"
STAGES = (20_000, 40_000, 60_000, 80_000)
"""Episodes after which the agent is exported."""
MAX_EPISODES = 80_000
DEVICE = "auto"
SHARE = 0.5
"""Of games that begin in a situation, where there are any."""
WEIGHTS: Literal["adaptive"] = "adaptive"
"""How one of them is chosen."""
LESSON_GAMES, LESSON_REFERENCES, LESSON_PLACES, LESSON_STEPS = 40, 5, 40, 40_000
SHIP_OBSERVATIONS, SHIP_GAMES = 4000, 100
"""On which a stored agent is compared with the trained one, and which each of them plays."""
