"""An agent that does not get its way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tightrope.agents.agent import Agent, Answer
from tightrope.errors import UsageError
from tightrope.fuzzing.actions import ActionSource
from tightrope.fuzzing.perturbation import Kind
from tightrope.trace import Action, content_id

NOISE = 0.5
"""Share of the steps at which noise replaces a listed action."""


class DisturbedAgent:
    """Asks an agent and lets something else happen: ``Kind.OTHER`` or ``Kind.NOISE``.

    A held action needs no agent: it is a fixed action sequence.
    """

    deterministic = False

    def __init__(self, agent: Agent, kind: Kind, source: ActionSource) -> None:
        self.agent, self.kind, self.source = agent, kind, source
        self.name = f"{agent.name} with {kind}"
        self.fingerprint = content_id("disturbed", agent.fingerprint, kind, repr(source))
        self.recurrent = agent.recurrent

    def act(
        self,
        observations: Sequence[Any],
        memories: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> Answer:
        """The agent's answer, disturbed by the episode's own random stream."""
        answer = self.agent.act(observations, memories, generators, masks)
        actions = [
            self._disturb(action, _given(rng), self.source.within(mask))
            for action, rng, mask in zip(answer.actions, generators, masks, strict=True)
        ]
        return Answer(actions, answer.memories)

    def _disturb(self, action: Action, rng: np.random.Generator, source: ActionSource) -> Action:
        if self.kind is Kind.OTHER:
            return source.other(action, rng)
        if source.listed is not None and rng.random() >= NOISE:
            return action
        return source.perturb(action, rng)


def _given(rng: np.random.Generator | None) -> np.random.Generator:
    if rng is None:
        raise UsageError("a disturbed agent draws at random and needs the episode's random generator")
    return rng
