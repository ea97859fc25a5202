"""An agent that does not get its way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tightrope.agents.agent import Agent
from tightrope.agents.wrapped import Streams, WrappedAgent
from tightrope.errors import UsageError
from tightrope.fuzzing.actions import ActionSource
from tightrope.fuzzing.perturbation import PerturbationKind
from tightrope.trace import Action, content_id

NOISE = 0.5
"""Share of the steps at which noise replaces a listed action."""


class DisturbedAgent(WrappedAgent):
    """Asks an agent and lets something else happen: ``PerturbationKind.OTHER`` or ``PerturbationKind.NOISE``.

    A held action needs no agent: it is a fixed action sequence.
    """

    _shown = ("agent", "kind")

    def __init__(self, agent: Agent, kind: PerturbationKind, source: ActionSource) -> None:
        self.kind, self.source = kind, source
        fingerprint = content_id("disturbed", agent.fingerprint, kind, repr(source))
        super().__init__(agent, f"{agent.name} with {kind}", fingerprint)

    def _done(self, actions: Sequence[Action], generators: Streams, masks: Sequence[Any]) -> list[Action]:
        return [
            self._disturb(action, _given(rng), self.source.within(mask))
            for action, rng, mask in zip(actions, generators, masks, strict=True)
        ]

    def _disturb(self, action: Action, rng: np.random.Generator, source: ActionSource) -> Action:
        if self.kind is PerturbationKind.OTHER:
            return source.other(action, rng)
        if source.listed is not None and rng.random() >= NOISE:
            return action
        return source.perturb(action, rng)


def _given(rng: np.random.Generator | None) -> np.random.Generator:
    if rng is None:
        raise UsageError("a disturbed agent draws at random and needs the episode's random generator")
    return rng
