"""One estimate under way: what is spent on what, and the ways it can end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tightrope.agents.agent import Agent
from tightrope.budget import Budget
from tightrope.execution import Engine
from tightrope.progress import Progress, ProgressCallback
from tightrope.risk.guides import Guide, NoGuide
from tightrope.risk.intervals import plain_estimate, splitting_estimate
from tightrope.risk.learning import ENOUGH_FAILURES, ENOUGH_TAUGHT, fitted_guide, noisy_lessons
from tightrope.risk.lessons import Lesson, replayed_lessons
from tightrope.risk.repeating import Done, Order, repetition
from tightrope.risk.result import PLAIN, SPLITTING, FailureEstimate
from tightrope.risk.roulette import Roulette
from tightrope.risk.splitting import Repetition
from tightrope.risk.swarm import EpisodePath, Swarm
from tightrope.seeding import derive_seed
from tightrope.simulation import conformance_of
from tightrope.tasks.task import Task

PILOT_EPISODES = 40
"""Plain episodes at the beginning: they tell the length of an episode, and whether failures are rare at all."""
FEWEST_IN_PILOT = 8
PILOT_SHARE = 0.1
"""Of the budget at most, for the pilot, beyond its fewest episodes."""
GUIDE_SHARE = 0.2
"""Of the budget, for learning a guide: once it is spent nothing more is begun."""
COMMON = 0.05
"""From this failure rate on plain episodes are as good as splitting, and simpler to believe."""
REPETITIONS = 5
"""Runs of splitting that the budget is divided into, a number fixed beforehand: few large ones agree better than many
small ones."""
FEWEST_EPISODES = 128
"""In all repetitions together; with fewer a repetition is mostly empty."""
BATCHES = (1, 2, 1, 1)
"""How many of them are run at once, before the next look at what they cost."""
SMALLEST_SIZE, LARGEST_SIZE = 16, 4096
FEWEST_IN_LAST = 8
"""Episodes of a repetition, where those before were dearer than planned."""
TRIAL_SHARE = 0.25
"""Of what is left, for trying out what a repetition costs; one that costs more cannot be repeated eight times."""
DEARER = 1.5
"""Times what an episode of the trial costs is taken for the first repetition: larger ones go further, and a first one
that is too small costs the others little."""
FOR_THE_LAST = 1.2
"""Times what episodes cost so far is kept for those of the last repetition, which nothing can make up for."""
MANY, SURELY = 20, 0.9
"""So many plain episodes are planned by their mean length, for this share of what is left."""
KEPT_FAILURES = 20


@dataclass(frozen=True)
class Plain:
    """Plain episodes."""

    paths: list[EpisodePath]
    steps: int

    @property
    def failures(self) -> int:
        """How many failed."""
        return sum(path.failed for path in self.paths)

    @property
    def rate(self) -> float:
        """The share that failed."""
        return self.failures / len(self.paths)


class Work:
    """What is spent, and on what."""

    def __init__(
        self,
        task: Task,
        agent: Agent,
        length: int | None,
        seed: int,
        limits: Budget,
        on_progress: ProgressCallback | None,
    ) -> None:
        self.task, self.agent, self.length, self.seed = task, agent, length, seed
        assert limits.steps is not None
        self.most_steps = self._asked = limits.steps
        self._meter = limits.start()
        self.on_progress = on_progress
        self.spent = 0
        self.quiet = agent.deterministic and conformance_of(task).deterministic

    @property
    def left(self) -> int:
        """Steps of the budget."""
        return max(0, self.most_steps - self.spent)

    def pilot(self) -> Plain:
        """The first plain episodes; fewer where they are long."""
        first = self.plain(FEWEST_IN_PILOT, "pilot")
        self.keep_to_time()
        fitting = int(PILOT_SHARE * self.most_steps / max(1.0, first.steps / FEWEST_IN_PILOT))
        more = min(fitting, PILOT_EPISODES) - FEWEST_IN_PILOT
        if more <= 0:
            return first
        rest = self.plain(more, "pilot, more")
        return Plain([*first.paths, *rest.paths], first.steps + rest.steps)

    def keep_to_time(self) -> None:
        """Turn a limit in seconds into steps, by how many the pilot made in a second so far.

        Everything is planned in steps. So only with such a limit does the answer depend on the machine.
        """
        seconds = self._meter.budget.seconds
        if seconds is not None:
            fitting = int(self.spent / max(self._meter.seconds, 1e-6) * seconds)
            self.most_steps = max(self.spent, min(self._asked, fitting))

    def plain(self, episodes: int, name: str) -> Plain:
        """Plain episodes, watched, so that a guide can learn from those that fail."""
        swarm = Swarm(self.task, self.agent, NoGuide(), length=self.length, watch=True)
        try:
            seeds = [derive_seed("risk", self.seed, name, number) for number in range(episodes)]
            played = Plain(swarm.from_resets(seeds), swarm.steps)
        finally:
            swarm.close()
        self.spent += played.steps
        self.say(f"{played.failures} of {episodes} plain episodes failed")
        return played

    def learned_guide(self, pilot: Plain, known: Sequence[Lesson]) -> Guide:
        """A guide learned from the pilot, from what is known already, and from episodes with random actions."""
        most = int(GUIDE_SHARE * self.most_steps)
        taught, steps = replayed_lessons(self.task, self.agent, known, most_steps=most)
        played, more = noisy_lessons(
            self.task,
            self.agent,
            length=self.length,
            seed=self.seed,
            most_steps=most - steps,
            known=[*pilot.paths, *taught],
            enough=ENOUGH_TAUGHT if taught else ENOUGH_FAILURES,
        )
        self.spent += steps + more
        guide = fitted_guide(self.task, played, taught=bool(taught) and not more)
        self.say(f"guide: {guide.name}")
        return guide

    def tried(self, runner: Engine, guide: Guide) -> Done:
        """A small repetition, to know what the others cost; a larger one where it came to an early end."""
        for size in (SMALLEST_SIZE, 2 * SMALLEST_SIZE, 4 * SMALLEST_SIZE):
            order = self._order(guide, size, f"trial of {size}", TRIAL_SHARE * self.left)
            found: Done = runner.map(repetition, [replace(order, learn=True)])[0]
            self.spent += found.steps
            if found.found is None or found.found.estimate > 0:
                break
        return found

    def hardly_begun(self, pilot: Plain) -> str:
        """Why splitting was not tried."""
        return (
            f"the budget of {self.most_steps:,} steps pays for little more than {len(pilot.paths)} episodes, so plain "
            f"episodes were counted, at least {len(pilot.paths)} of them"
        )

    def too_little(self, each: float) -> str:
        """Why splitting was left, and what it would have taken."""
        needed = self.spent + FEWEST_EPISODES * each
        return (
            f"the budget of {self.most_steps:,} steps is too small for splitting, so plain "
            f"episodes were counted; splitting takes more than {round(needed, -3):,.0f} steps here"
        )

    def repeated(self, runner: Engine, guide: Guide, tried: Done) -> list[Repetition]:
        """Independent repetitions that share what is left of the budget.

        How many they are is fixed, and each counts for the same, so the mean is unbiased although the size of each
        follows from what those before cost. One that the budget does not pay for to its end is left out.
        """
        done: list[Repetition] = []
        each, roulette = DEARER * tried.each, tried.roulette
        for count in BATCHES:
            last = len(done) + count == REPETITIONS
            size = int(self.left / (REPETITIONS - len(done)) / each / (FOR_THE_LAST if last else 1))
            if size < FEWEST_IN_LAST:
                break
            names = range(len(done), len(done) + count)
            orders = [self._order(guide, min(size, LARGEST_SIZE), name, self.left / count, roulette) for name in names]
            batch: list[Done] = runner.map(repetition, [replace(one, learn=roulette is None) for one in orders])
            self.spent += sum(one.steps for one in batch)
            finished = [one.found for one in batch if one.found is not None]
            done += finished
            if len(finished) < count:
                break
            each, roulette = float(np.mean([one.each for one in batch])), batch[0].roulette
            self.say(f"{len(done)} repetitions: {np.mean([one.estimate for one in done]):.2g}")
        return done

    def _order(
        self, guide: Guide, size: int, name: object, most_steps: float, roulette: Roulette | None = None
    ) -> Order:
        seed = derive_seed("risk repetition", self.seed, name)
        return Order(self.agent, guide, self.length, size, seed, most_steps, roulette)

    def of_starts_alone(self, pilot: Plain) -> FailureEstimate:
        """Plain Monte Carlo over starts."""
        note = (
            "neither the agent nor the environment is random after reset: its risk lies in its starts alone; declare "
            "the noise it has in use (epsilon, sampled behaviour) if there is any"
        )
        return self.counted(pilot, note)

    def counted(self, pilot: Plain, *notes: str) -> FailureEstimate:
        """Plain Monte Carlo with what is left of the budget."""
        paths, steps = list(pilot.paths), pilot.steps
        while more := self._episodes_that_fit(paths):
            rest = self.plain(more, f"plain from {len(paths)}")
            paths, steps = [*paths, *rest.paths], steps + rest.steps
        failures = sum(path.failed for path in paths)
        return self._result(
            probability=plain_estimate(failures, len(paths)),
            method=PLAIN,
            guide="none",
            notes=notes,
            failures=tuple(path.trace for path in paths if path.trace is not None)[:KEPT_FAILURES],
            episode_steps=steps / len(paths),
        )

    def _episodes_that_fit(self, paths: Sequence[EpisodePath]) -> int:
        """So many that the budget is kept: most of them by their mean length, the last ones by the greatest so far."""
        lengths = np.array([len(path.watched or ()) for path in paths], dtype=float)
        mean, error = float(lengths.mean()), float(lengths.std() / np.sqrt(len(lengths)))
        by_mean = int(SURELY * self.left / (mean + 3 * error))
        return by_mean if by_mean >= MANY else int(self.left / lengths.max())

    def from_splitting(self, repetitions: list[Repetition], guide: Guide, pilot: Plain) -> FailureEstimate:
        """What the repetitions tell."""
        plain = sum(each.size for each in repetitions) + len(pilot.paths)
        met = sum(each.plain_failures for each in repetitions) + pilot.failures
        probability, notes = splitting_estimate(repetitions, met, plain)
        failures = [trace for each in repetitions for trace in each.failures[:2]]
        return self._result(
            probability=probability,
            method=SPLITTING,
            guide=guide.name,
            plain=plain_estimate(met, plain),
            repetitions=len(repetitions),
            notes=notes,
            failures=tuple(failures[:KEPT_FAILURES]),
            episode_steps=pilot.steps / len(pilot.paths),
        )

    def say(self, note: str) -> None:
        """Report progress."""
        if self.on_progress is not None:
            self.on_progress(Progress("risk", min(self.spent, self.most_steps), self.most_steps, note))

    def _result(self, **found: Any) -> FailureEstimate:
        return FailureEstimate(
            task=self.task.label, agent=self.agent.name, cost=self.spent, length=self.length, **found
        )
