"""The engine: many rollouts at once, on one core, many cores, many machines."""

from tightrope.execution.engine import Engine
from tightrope.execution.rollout import Episode, Rollout

__all__ = ["Engine", "Episode", "Rollout"]
