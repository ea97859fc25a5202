"""Disturbances that are played: which led to new situations, which to failures, and which of those can be smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tightrope.execution import Episode, Rollout
from tightrope.failures.bandit import Arms
from tightrope.failures.ledger import Ledger
from tightrope.failures.moments import price
from tightrope.failures.result import Disturbance
from tightrope.failures.tries import Tries, Try
from tightrope.failures.worth import DOUBT, Worth
from tightrope.outcome import Outcome
from tightrope.trace import ActionTrace

MOST_RUNS = 64


class Disturbing:
    """Plays tries, then the agent.

    Args:
        ledger: Where they are counted.
        tries: What they were drawn from; gets what is worth being disturbed again.
        arms: Learns what each is worth.
        worth: Judges those that fail.
        blurred: The agent that sees through noise, by its name in the engine; None: nobody does.
        one_world: Whether every reset leads to the same world.
    """

    def __init__(
        self, ledger: Ledger, tries: Tries, arms: Arms, worth: Worth, blurred: str | None, one_world: Callable[[], bool]
    ) -> None:
        self._ledger, self._tries, self._arms, self._worth = ledger, tries, arms, worth
        self._blurred, self._one_world = blurred, one_world
        self._met: set[tuple[int, int]] = set()
        """Situations in which the agent took over, with their reset seed: the same place on another map is another."""
        self._survived: list[tuple[Episode, Disturbance]] = []
        """What led to new situations without a failure: disturbed again where nothing else is new."""
        self.smaller: list[Try] = []
        """What is to be tried next, because something larger failed or nothing else is new."""
        self._is_small = False

    def take(self, count: int) -> list[Try]:
        """So many of what is to be tried next."""
        taken, self.smaller = self.smaller[:count], self.smaller[count:]
        return taken

    def play(self, tries: Sequence[Try]) -> int:
        """Play disturbances, then the agent; how many situations were new."""
        ledger = self._ledger
        through_noise = self._through_noise([tried for tried in tries if tried.is_blurred])
        ledger.meter.spend(sum(self._price(tried) for tried in tries))
        played: dict[int, Episode] = {}
        starts: dict[int, ActionTrace] = {}
        for place, tried in enumerate(tries):
            seen = next(through_noise) if tried.is_blurred else None
            if seen is not None and seen.outcome is Outcome.UNSAFE:
                played[place] = seen
            else:
                starts[place] = self._tries.prefix(tried).then(tried.played) if seen is None else seen.trace
        episodes = ledger.run([self._rollout(start, ledger.agent) for start in starts.values()])
        played |= zip(starts, episodes, strict=True)
        ledger.count([*played.values()])
        return sum(self._learn(tried, played[place]) for place, tried in enumerate(tries))

    def again(self) -> bool:
        """Try each action once where disturbances led: farther from normal operation, which is left for last."""
        known = len(self._tries.runs)
        for episode, disturbance in self._survived[: max(0, MOST_RUNS - known)]:
            self._tries.add(episode, disturbance)
        self._survived.clear()
        # The first time from where the first run began as well.
        places = [*range(0 if self._is_small else min(1, known)), *range(known, len(self._tries.runs))]
        self._is_small = True
        self.smaller += [tried for run in places for tried in self._tries.each_action(run)]
        return bool(places)

    def _learn(self, tried: Try, episode: Episode) -> bool:
        """Take what came of one; whether it led to something new."""
        if not episode.reached_handover or episode.error is not None or episode.checksum is None:
            self._arms.learn(tried.arms, 0.0, self._price(tried, episode))
            return False
        within_noise = episode.rollout.agent == self._blurred
        # Noise begins where the runs were, and many failures may follow from there: they are told apart by their ends.
        where = int(episode.keys[-2]) if within_noise and episode.keys is not None else episode.checksum
        tried = replace(tried, steps=len(episode.actions)) if within_noise else tried
        situation = (0 if self._one_world() else episode.trace.seed, where)
        is_new = situation not in self._met
        self._met.add(situation)
        # Where chance decides, the same situation can be lost in another way.
        failed = (is_new or self._tries.chance) and self._ledger.note(episode, self._tries.disturbance(tried))
        smaller = bool(tried.fails)
        worth = self._worth.of(episode, tried.source, family=tried.family, smaller=smaller) if failed else 0.0
        self._arms.learn(tried.arms, worth, self._price(tried, episode))
        if is_new and not failed and len(self._survived) < MOST_RUNS:
            self._survived.append((episode, self._tries.disturbance(tried)))
        # What is surely lost before hand-over is not made better by being made smaller.
        if not failed or worth >= DOUBT:
            self._halve(tried, failed, episode)
        return is_new or failed

    def _halve(self, tried: Try, failed: bool, episode: Episode) -> None:
        """What failed is tried with less, and what did not although more did, with more; the longest that is survived
        leads to where little is needed for a failure, so that it is disturbed again."""
        fails = tried.steps if failed else tried.fails
        survived = tried.survived if failed else tried.steps
        if fails and fails - survived > 1:
            self.smaller.append(replace(tried, steps=(fails + survived) // 2, survived=survived, fails=fails))
            return
        if fails:
            self._tries.add_failed(replace(tried, steps=fails))
        if fails and not failed and len(self._tries.runs) < MOST_RUNS:
            self._tries.add(episode, self._tries.disturbance(tried))

    def _through_noise(self, tries: Sequence[Try]) -> Iterator[Episode]:
        """How the agent plays as long as it sees through noise; who fails there has failed within the noise."""
        blurred = self._blurred or ""
        rollouts = [replace(self._rollout(self._tries.prefix(each), blurred), length=each.steps) for each in tries]
        for episode in self._ledger.run(rollouts):
            # It would have gone no differently, had it been watched for longer.
            whole = replace(episode.rollout, length=self._tries.length)
            yield replace(episode, rollout=whole) if episode.outcome is Outcome.UNSAFE else episode

    def _rollout(self, start: ActionTrace, agent: str) -> Rollout:
        return Rollout(
            start=start,
            agent=agent,
            length=self._tries.length,
            seed=self._ledger.seed_of(start),
            fixed_prefix=True,
            record_keys=True,
        )

    def _price(self, tried: Try, *episodes: Episode) -> int:
        """Steps of a disturbance and of what followed; what is replayed is counted with what follows."""
        played = 0 if self._tries.replayed else len(tried.played)
        return played + price(self._ledger.engine, episodes)
