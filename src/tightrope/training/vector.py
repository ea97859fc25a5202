"""Several environments side by side that begin in situations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym

from tightrope.errors import UsageError
from tightrope.seeding import derive_seed
from tightrope.tasks.task import Task
from tightrope.training.choice import SHARE
from tightrope.training.situations import situations_from
from tightrope.training.starts import SituationStarts


class SituationStartsVector(gym.vector.SyncVectorEnv):
    """``count`` environments, each a ``SituationStarts`` with a choice of starts of its own.

    Args:
        make: Makes one environment, or is a task.
        situations: Where to begin, as for ``SituationStarts``.
        count: How many environments.
        share: The share of episodes that begin in a situation.
        seed: Of the choice of starts.
        **options: Further arguments of ``SituationStarts``.
    """

    def __init__(
        self,
        make: Callable[[], gym.Env[Any, Any]] | Task,
        situations: Any,
        count: int,
        share: float = SHARE,
        seed: int = 0,
        **options: Any,
    ) -> None:
        if count < 1:
            raise UsageError(f"count must be 1 or more, not {count}")
        chosen = situations_from(situations)
        super().__init__(
            [
                partial(_made, make, chosen, share, derive_seed("situation starts", seed, number), options)
                for number in range(count)
            ]
        )


def _made(
    make: Callable[[], gym.Env[Any, Any]] | Task, situations: Any, share: float, seed: int, options: dict[str, Any]
) -> SituationStarts:
    return SituationStarts(make if isinstance(make, Task) else make(), situations, share, seed, **options)
