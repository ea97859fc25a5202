"""What a failure is worth to the search: whether it was avoidable and is unlike others, as far as is seen cheaply."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable

import numpy as np

from tightrope.execution import Episode, Rollout
from tightrope.failures.attempts import Attempt, attempt
from tightrope.failures.ledger import Ledger
from tightrope.failures.likelihood import candidates, held_actions
from tightrope.failures.moments import HORIZON, NEAREST_BY_CHANCE
from tightrope.failures.tries import RESET
from tightrope.outcome import Outcome

SOON = 8
"""Who fails within so many steps of hand-over was often lost before it: those are told apart from the others."""
DOUBT = 0.1
"""Where fewer of a kind were avoidable, they are not made smaller."""
FIRST_SOON, ONE_IN = 8, 8
"""Of those that fail soon, which are looked at: the first, then one in so many. That is cheap."""
MOST_INSTEAD = 4
"""Other actions that are tried there."""
FIRST_LATER, ONE_LATER_IN = 3, 16
"""The same of the others."""
EFFORT = 500
"""Steps for surviving one of them from hand-over on: quick attempts, and a short search. It finds a way for about half
of those where a long one does, so that none being found says little at first."""


class Worth:
    """Judges failures by what is known of those before them.

    Args:
        ledger: What was played, and where looking is counted.
        rng: What draws come from.
    """

    def __init__(self, ledger: Ledger, rng: np.random.Generator) -> None:
        self._ledger, self._rng = ledger, rng
        self._known: defaultdict[Hashable, list[int]] = defaultdict(lambda: [0, 0, 0])
        """Of each kind how many failed, how many were looked at, and how many of those were avoidable."""
        self._lost: Counter[Hashable] = Counter()
        """How often it failed alike."""
        self._once: dict[bool, dict[Hashable, float]] = {True: {}, False: {}}
        """What plain episodes, and disturbances, have shown once and nothing else has: how likely it was avoidable."""
        self._variants: Counter[int] = Counter()
        """How many variants of each failure failed."""

    def of(self, episode: Episode, source: str, *, family: int | None = None, smaller: bool = False) -> float:
        """How likely a failure was avoidable, and how likely unlike those before it.

        ``source``: the choice that led to it. Failures of one source are mostly alike in whether somebody survives.
        ``family``: the failure that it is a variant of, of which most are lost by one decision. ``smaller``: whether
        it is one that is known, made smaller.
        """
        likely = self._likely_avoidable(episode, source)
        alike = self._alike(episode)
        self._lost[alike] += 1
        if family is not None:
            self._variants[family] += 1
            likely /= 1 + self._variants[family]
        if self._lost[alike] > 1:
            self._forget(alike)
        elif not smaller:
            self._once[source == RESET][alike] = likely
        return likely / self._lost[alike]

    def again(self, episode: Episode) -> None:
        """A failure that went exactly like one before: what it shows is no longer shown once."""
        alike = self._alike(episode)
        self._lost[alike] += 1
        self._forget(alike)

    def new(self, *, plain: bool) -> float:
        """Avoidable causes that plain episodes, or disturbances, have shown once and nothing else has."""
        return sum(self._once[plain].values())

    def _forget(self, alike: Hashable) -> None:
        for once in self._once.values():
            once.pop(alike, None)

    def _alike(self, episode: Episode) -> Hashable:
        """Where it was lost at the latest, and what was done there."""
        steps = min(len(episode.actions), 1 if self._ledger.engine.deterministic else NEAREST_BY_CHANCE)
        assert episode.keys is not None
        return int(episode.keys[-steps - 1]), episode.actions[-steps]

    def _likely_avoidable(self, episode: Episode, source: str) -> float:
        """As often as others of its kind; surely where nobody disturbed the agent at all."""
        soon = len(episode.actions) < SOON
        if not self._ledger.engine.deterministic:
            return 0.0 if soon else 1.0  # who survives so near to the harm is not looked for
        if source == RESET:
            return 1.0
        known = self._known[source, soon]
        known[0] += 1
        first, one_in = (FIRST_SOON, ONE_IN) if soon else (FIRST_LATER, ONE_LATER_IN)
        if known[1] < first or not known[0] % one_in:
            known[1] += 1
            known[2] += (survived := self._lasts(episode) if soon else self._is_survived(episode))
            if soon or survived:
                return float(survived)
        return known[2] / known[1] if soon else (known[2] + 1) / (known[1] + 1)

    def _lasts(self, episode: Episode) -> bool:
        """Whether the agent lasts at least twice as long where another action is played first."""
        ledger, start = self._ledger, episode.rollout.start
        own = episode.actions[:1]
        actions = candidates(ledger.engine.task, own[0], self._rng) if own else []
        others = [action for action in actions if action not in own]
        chosen = [others[place] for place in self._rng.permutation(len(others))[:MOST_INSTEAD]]
        rollouts = [
            Rollout(
                start=start.then([action]),
                agent=ledger.agent,
                length=2 * SOON,
                seed=ledger.seed_of(start),
                fixed_prefix=True,
            )
            for action in chosen
        ]
        return any(each.reached_handover and each.outcome is not Outcome.UNSAFE for each in ledger.run(rollouts))

    def _is_survived(self, episode: Episode) -> bool:
        """Whether somebody is found who survives from hand-over on: then there is a later moment that lost it."""
        work = Attempt(
            prefix=episode.rollout.start,
            actions=held_actions(self._ledger.engine.task),
            length=len(episode.actions) + HORIZON,
            deterministic=True,
            limit=len(episode.rollout.start) + EFFORT,
        )
        [answer] = self._ledger.map(attempt, [work], lambda answered: answered.steps)
        return bool(answer.who)
