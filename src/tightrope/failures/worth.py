"""What a failure is worth to the search: whether it was avoidable and is unlike others, as far as is seen cheaply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from tightrope.execution import Engine, Episode, Rollout
from tightrope.failures.likelihood import candidates
from tightrope.failures.moments import NEAREST_BY_CHANCE
from tightrope.outcome import Outcome
from tightrope.trace import ActionTrace

SOON = 8
"""Who fails within so many steps of hand-over was often lost before it: such a failure counts as much as others like it
were seen to be avoidable by another action at hand-over."""
DOUBT = 0.1
"""Where fewer of them were, they are not made smaller."""
FIRST_DOUBTED, ONE_IN = 8, 8
"""Of those, which are looked at: the first, then one in so many."""
MOST_INSTEAD = 4
"""Other actions that are tried there."""


class Worth:
    """Judges failures by what is known of those before them.

    Args:
        engine: Whose task it is.
        agent: The agent that failed.
        rng: What draws come from.
        run: Plays rollouts, and counts what they cost.
        seed: Of an execution that begins there.
    """

    def __init__(
        self,
        engine: Engine,
        agent: str,
        rng: np.random.Generator,
        run: Callable[[Sequence[Rollout]], list[Episode]],
        seed: Callable[[ActionTrace], int],
    ) -> None:
        self.engine, self.agent = engine, agent
        self._rng, self._run, self._seed = rng, run, seed
        self._soon = self._doubted = self._avoidable = 0
        self._lost: Counter[Hashable] = Counter()
        """How often it failed alike."""

    def of(self, episode: Episode) -> float:
        """How likely a failure was avoidable, and how likely unlike those before it."""
        likely = self._likely_avoidable(episode)
        alike = self._alike(episode)
        self._lost[alike] += 1
        return likely / self._lost[alike]

    def _alike(self, episode: Episode) -> Hashable:
        """Where it was lost at the latest, and what was done there."""
        steps = min(len(episode.actions), 1 if self.engine.deterministic else NEAREST_BY_CHANCE)
        assert episode.keys is not None
        return int(episode.keys[-steps - 1]), episode.actions[-steps]

    def _likely_avoidable(self, episode: Episode) -> float:
        """Surely where the agent had time to do otherwise."""
        if len(episode.actions) >= SOON:
            return 1.0
        if not self.engine.deterministic:
            return 0.0  # who survives so near to the harm is not looked for
        self._soon += 1
        if self._doubted >= FIRST_DOUBTED and self._soon % ONE_IN:
            return self._avoidable / self._doubted
        escapes = self._escapes(episode)
        self._doubted += 1
        self._avoidable += escapes
        return float(escapes)

    def _escapes(self, episode: Episode) -> bool:
        """Whether the agent lasts at least twice as long where another action is played first."""
        start = episode.rollout.start
        actions = candidates(self.engine.task, episode.actions[0], self._rng) if episode.actions else []
        others = [action for action in actions if action != episode.actions[0]]
        chosen = [others[place] for place in self._rng.permutation(len(others))[:MOST_INSTEAD]]
        rollouts = [
            Rollout(
                start=start.then([action]), agent=self.agent, length=2 * SOON, seed=self._seed(start), fixed_prefix=True
            )
            for action in chosen
        ]
        return any(each.reached_handover and each.outcome is not Outcome.UNSAFE for each in self._run(rollouts))
