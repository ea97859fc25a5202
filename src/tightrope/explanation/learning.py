"""A model of a small task, learnt around the decisions of failed episodes: how often the best known survives there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tightrope.execution import Engine
from tightrope.exploration.best_survival import TRIALS_AT_A_TIME
from tightrope.exploration.learnt_model import Transitions, safest_policy
from tightrope.exploration.learnt_survival import Decision, LearntSurvival
from tightrope.exploration.policies import AtRandom, ByTable, Policy
from tightrope.exploration.trials import Trial, Trials, Tried, run_trials
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.trace import Action, ActionTrace

ROUNDS, CURIOSITY = 4, 0.2
"""A model learnt from random actions knows little of where its own policy leads, so it is tried and learnt anew."""
FIRST_RUNS, MOST_RUNS = 4, 32
"""Runs of one start in a round."""


class Learner:
    """Plays from where decisions were made, and counts what follows what and what it cost."""

    def __init__(self, engine: Engine, length: int, actions: tuple[Action, ...]) -> None:
        self.engine, self.length, self.actions = engine, length, actions
        self.replays = engine.conformance.method == REPLAY
        self.spent = self.runs = 0

    def learn(self, starts: Mapping[Decision, ActionTrace], steps: int) -> tuple[LearntSurvival, ByTable] | None:
        """The model and its policy within about so many steps; None where there is too much to learn.

        Half of the steps go to learning whom to follow, the other half to counting how he fares.
        """
        trials = self._starts(starts, steps)
        seen, end = Transitions(), self.spent + steps
        self._count(trials, AtRandom(), FIRST_RUNS, "learn", seen)
        if not seen.learnable:
            return None
        for number in range(ROUNDS):
            curious = safest_policy(seen, self.length, CURIOSITY)
            runs = self._affordable(trials, (end - steps // 2 - self.spent) // (ROUNDS - number))
            self._count(trials, curious, runs, f"learn {number}", seen)
            if not seen.learnable:
                return None
        policy, fresh = safest_policy(seen, self.length), Transitions()
        self._count(trials, policy, self._affordable(trials, end - self.spent, most=MOST_RUNS * ROUNDS), "count", fresh)
        return LearntSurvival(fresh, seen, policy, self.length), policy

    def _starts(self, starts: Mapping[Decision, ActionTrace], steps: int) -> list[tuple[ActionTrace, Action | None]]:
        """Where to begin, and what to play first: what was done, or anything."""
        whole = [(prefix, action) for (_, action), prefix in starts.items()]
        free = {key: prefix for (key, _), prefix in reversed(starts.items())}
        most = max(1, steps // 4 // (FIRST_RUNS * self.length))
        return [*whole[:most], *((prefix, None) for prefix in list(free.values())[:most])]

    def _affordable(self, trials: Sequence[object], steps: int, most: int = MOST_RUNS) -> int:
        return max(1, min(most, steps * self.runs // max(1, self.spent * len(trials))))

    def _count(
        self,
        trials: Sequence[tuple[ActionTrace, Action | None]],
        policy: Policy,
        runs: int,
        purpose: str,
        seen: Transitions,
    ) -> None:
        before = seen.steps
        # Runs of one purpose share their luck where they begin together: they would be counted as one and twice.
        for which, forced in (("", True), (" freely", False)):
            some = [
                Trial(prefix=prefix, policies=(policy,), runs=runs, first=first)
                for prefix, first in trials
                if (first is not None) is forced
            ]
            self._play(some, f"{purpose}{which}", seen)
        self.spent += seen.steps - before

    def fare(self, starts: Sequence[ActionTrace], policy: Policy, first: Action | None, runs: int) -> list[Tried | None]:
        """How the policy fares from there in fresh runs, after that action (None: after its own)."""
        seen = Transitions()
        purpose = f"measure {first}"
        trials = [Trial(prefix=prefix, policies=(policy,), runs=runs, first=first) for prefix in starts]
        tried = self._play(trials, purpose, seen)
        self.spent += seen.steps
        return tried

    def _play(self, trials: Sequence[Trial], purpose: str, seen: Transitions) -> list[Tried | None]:
        parts = [trials[start : start + TRIALS_AT_A_TIME] for start in range(0, len(trials), TRIALS_AT_A_TIME)]
        answers = self.engine.map(
            run_trials,
            [
                Trials(
                    trials=tuple(part),
                    length=self.length,
                    actions=self.actions,
                    purpose=f"together {purpose}",
                    learn=True,
                )
                for part in parts
            ],
        )
        for answer in answers:
            seen.update(answer.seen)
        self.runs += sum(trial.runs for trial in trials)
        if self.replays:
            self.spent += sum(trial.runs * len(trial.prefix) for trial in trials)
        return [tried for answer in answers for tried in answer.tried]
