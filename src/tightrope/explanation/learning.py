"""A model of a small task, learnt around the decisions of failed episodes: how often the best known survives there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from tightrope.execution import Engine
from tightrope.exploration.best_survival import TRIALS_AT_A_TIME
from tightrope.exploration.learnt_model import Transitions, safest_policy
from tightrope.exploration.learnt_survival import Decision, LearntSurvival
from tightrope.exploration.policies import AtRandom, ByTable, Policy
from tightrope.exploration.trials import Trial, Trials, Tried, run_trials
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.trace import Action, ActionTrace

FEWEST_ROUNDS, CURIOSITY = 2, 0.2
"""A model learnt from random actions knows little of where its own policy leads, so it is tried and learnt anew."""
FIRST_RUNS, MOST_RUNS = 4, 16
"""Runs of one start in a round."""
SHARE_OF_STEPS, MOST_STEPS = 0.1, 1000
"""Of the steps, for single ones after each decision, and most for one: what comes after them is known by then."""


class Learner:
    """Plays from where decisions were made, and counts what follows what and what it cost."""

    def __init__(self, engine: Engine, length: int, actions: tuple[Action, ...]) -> None:
        self.engine, self.length, self.actions = engine, length, actions
        self.replays = engine.conformance.method == REPLAY
        self.spent = 0

    def learn(self, starts: Mapping[Decision, ActionTrace], steps: int) -> tuple[LearntSurvival, ByTable] | None:
        """The model and its policy within about so many steps; None where there is too much to learn.

        Half of the steps go to learning whom to follow, the other half to counting how he fares.
        """
        trials = self._starts(starts, steps)
        seen, middle, end = Transitions(), self.spent + steps // 2, self.spent + int(steps * (1 - SHARE_OF_STEPS))
        price = self._count(trials, AtRandom(), self._first_runs(trials), "learn", seen)
        for number in count():
            if not seen.learnable:
                return None
            if number >= FEWEST_ROUNDS and self.spent + price > middle:
                break
            curious = safest_policy(seen, self.length, CURIOSITY)
            runs = FIRST_RUNS if number == 0 else self._affordable(price, (middle - self.spent) // 2)
            price = self._count(trials, curious, runs, f"learn {number}", seen)
        policy, fresh = safest_policy(seen, self.length), Transitions()
        number = 0
        while number == 0 or self.spent + price <= end:
            price = self._count(trials, policy, self._affordable(price, end - self.spent), f"count {number}", fresh)
            number += 1
        self._count_steps(trials, fresh, int(steps * SHARE_OF_STEPS))
        return LearntSurvival(fresh, seen, policy, self.length), policy

    def _starts(self, starts: Mapping[Decision, ActionTrace], steps: int) -> list[tuple[ActionTrace, Action | None]]:
        """Where to begin, and what to play first: what was done, or anything."""
        whole = [(prefix, action) for (_, action), prefix in starts.items()]
        free: dict[int, ActionTrace] = {}
        for (key, _), prefix in starts.items():
            free.setdefault(key, prefix)
        most = max(1, steps // 4 // (FIRST_RUNS * self.length))
        return [*whole[:most], *((prefix, None) for prefix in list(free.values())[:most])]

    def _first_runs(self, trials: Sequence[tuple[ActionTrace, Action | None]]) -> int:
        """Few of each, but from few starts more: where harm comes at once, four runs show next to nothing."""
        return max(FIRST_RUNS, MOST_RUNS * FIRST_RUNS // len(trials))

    def _affordable(self, price: int, steps: int) -> int:
        return max(1, min(MOST_RUNS, steps // price))

    def _count(
        self,
        trials: Sequence[tuple[ActionTrace, Action | None]],
        policy: Policy,
        runs: int,
        purpose: str,
        seen: Transitions,
    ) -> int:
        """Play them; what one run of each took."""
        before, spent = seen.steps, self.spent
        # Runs of one purpose share their luck where they begin together: they would be counted as one and twice.
        for which, forced in (("", True), (" freely", False)):
            some = [
                Trial(prefix=prefix, policies=(policy,), runs=runs, first=first)
                for prefix, first in trials
                if (first is not None) is forced
            ]
            self._play(some, f"{purpose}{which}", seen)
        self.spent += seen.steps - before
        return max(1, (self.spent - spent) // runs)

    def _count_steps(self, trials: Sequence[tuple[ActionTrace, Action | None]], seen: Transitions, steps: int) -> None:
        """What follows at once from each decision: a single step of each run says that, and all the rest is known."""
        forced = [(prefix, first) for prefix, first in trials if first is not None]
        runs = 0 if self.replays else min(MOST_STEPS, steps // len(forced))
        single = [Trial(prefix=prefix, policies=(AtRandom(),), runs=runs, first=first) for prefix, first in forced]
        before = seen.steps
        self._play(single, "single steps", seen, length=1)
        self.spent += seen.steps - before

    def fare(
        self, starts: Sequence[ActionTrace], policy: Policy, first: Action | None, runs: int
    ) -> list[Tried | None]:
        """How the policy fares from there in fresh runs, after that action (None: after its own)."""
        seen = Transitions()
        purpose = f"measure {first}"
        trials = [Trial(prefix=prefix, policies=(policy,), runs=runs, first=first) for prefix in starts]
        tried = self._play(trials, purpose, seen)
        self.spent += seen.steps
        return tried

    def _play(
        self, trials: Sequence[Trial], purpose: str, seen: Transitions, length: int | None = None
    ) -> list[Tried | None]:
        parts = [trials[start : start + TRIALS_AT_A_TIME] for start in range(0, len(trials), TRIALS_AT_A_TIME)]
        answers = self.engine.map(
            run_trials,
            [
                Trials(
                    trials=tuple(part),
                    length=length or self.length,
                    actions=self.actions,
                    purpose=f"together {purpose}",
                    learn=True,
                )
                for part in parts
            ],
        )
        for answer in answers:
            seen.update(answer.seen)
        if self.replays:
            self.spent += sum(trial.runs * len(trial.prefix) for trial in trials)
        return [tried for answer in answers for tried in answer.tried]
