"""Several environments side by side that begin in situations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym

from tightrope.seeding import derive_seed
from tightrope.settings import Count, require
from tightrope.tasks.task import Task, Transition
from tightrope.training.choice import BY_FAILS, SHARE, StartWeights
from tightrope.training.situations import SituationSource, situations_from
from tightrope.training.starts import SituationStarts


class SituationStartsVector(gym.vector.SyncVectorEnv):
    """``count`` environments, each a ``SituationStarts`` with a choice of starts of its own.

    Args:
        make: Makes one environment, or is a task.
        situations: Where to begin, as for ``SituationStarts``.
        count: How many environments.
        share: The share of episodes that begin in a situation.
        seed: Of the choice of starts.
        weights: How a situation is chosen, as for ``SituationStarts``; each environment adapts by itself.
        unsafe: What failing is, for adaptive weights; default: the task's own.
    """

    def __init__(
        self,
        make: Callable[[], gym.Env[Any, Any]] | Task,
        situations: SituationSource,
        count: int,
        share: float = SHARE,
        seed: int = 0,
        *,
        weights: StartWeights = BY_FAILS,
        unsafe: Callable[[Transition], bool] | None = None,
    ) -> None:
        require("count", count, Count)
        chosen = situations_from(situations)

        def made(number: int) -> SituationStarts:
            env = make if isinstance(make, Task) else make()
            own = derive_seed("situation starts", seed, number)
            return SituationStarts(env, chosen, share, own, weights=weights, unsafe=unsafe)

        super().__init__([partial(made, number) for number in range(count)])
