"""What a training is asked for where nothing is said. Nothing is imported here: the command line waits for it."""

from __future__ import annotations

LEVEL, ACTIONS, REWARD = "1-1", "2-moves", "dense"
STAGES = (20_000, 40_000, 60_000, 80_000)
"""Episodes after which the agent is exported."""
MAX_EPISODES = 80_000
DEVICE = "auto"
SHARE = 0.5
"""Of games that begin in a situation, where there are any."""
WEIGHTS = "adaptive"
"""How one of them is chosen."""
