"""The engine: many rollouts at once, on one core, many cores, many machines."""

from tightrope.execution.borrowing import begun_again_if_stochastic, borrowed_engine
from tightrope.execution.counters import Counters
from tightrope.execution.engine import Engine
from tightrope.execution.episode_error import EpisodeError, ErrorKind
from tightrope.execution.rollout import Episode, Rollout

__all__ = [
    "Counters",
    "Engine",
    "Episode",
    "EpisodeError",
    "ErrorKind",
    "Rollout",
    "begun_again_if_stochastic",
    "borrowed_engine",
]
