"""What an agent is: anything that maps a batch of observations, and its own memory of each episode, to actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from tightrope.trace import Action


class Answer(NamedTuple):
    """What an agent says to a batch: an action and a new memory for each observation."""

    actions: Sequence[Action]
    memories: Sequence[Any]


@runtime_checkable
class Agent(Protocol):
    """Answers batches. The answer to one observation must not depend on what else is in the batch, bit for bit.

    An agent can be pickled with cloudpickle, to be rebuilt in a worker process; one that came from a file pickles
    as the path and options it was loaded with.
    """

    name: str
    fingerprint: str
    """Hash of what the agent is (its file, its weights, its options); the same agent has the same one everywhere."""
    deterministic: bool
    """Whether the answer depends on observation and memory alone."""
    recurrent: bool
    """Whether it keeps memory between the steps of an episode."""

    def act(
        self,
        observations: Sequence[Any],
        memories: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> Answer:
        """Answer each observation.

        ``observations`` are read-only, and may change when their environment goes on: copy what is to be kept.
        ``memories`` are those of the previous answer, None at an episode's start; they may be changed, since whoever
        keeps one keeps a copy (``copy.deepcopy``). ``generators`` are per-episode random streams (None allowed when
        ``deterministic``). ``masks`` are ``info["action_mask"]`` or None.
        """
        ...
