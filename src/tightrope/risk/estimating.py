"""``estimate_failure``: how likely an episode in use ends unsafe, down to one in a million."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tightrope.agents.agent import Agent
from tightrope.budget import Budget
from tightrope.errors import UsageError
from tightrope.execution import Engine, begun_again_if_stochastic, borrowed_engine
from tightrope.progress import Progress, ProgressCallback
from tightrope.risk.guides import GivenGuide, Guide, NoGuide
from tightrope.risk.intervals import plain_estimate, splitting_estimate
from tightrope.risk.learning import fitted_guide, noisy_lessons
from tightrope.risk.repeating import Order, Trial, repetition, trial
from tightrope.risk.result import PLAIN, SPLITTING, FailureEstimate
from tightrope.risk.roulette import Roulette
from tightrope.risk.splitting import Repetition
from tightrope.risk.swarm import Path, Swarm
from tightrope.seeding import derive_seed
from tightrope.settings import LIBRARY_BACKEND, RiskConfig
from tightrope.simulation import conformance_of
from tightrope.tasks.task import Task, Transition

PILOT_EPISODES = 40
"""Plain episodes at the beginning: they tell the length of an episode, and whether failures are rare at all."""
FEWEST_IN_PILOT = 8
PILOT_SHARE = 0.1
"""Of the budget at most, for the pilot, beyond its fewest episodes."""
GUIDE_SHARE = 0.2
"""Of the budget, for learning a guide: once it is spent nothing more is begun."""
COMMON = 0.05
"""From this failure rate on plain episodes are as good as splitting, and simpler to believe."""
REPETITIONS = 8
"""Runs of splitting that the budget is divided into, at the least: few large ones agree better than many small ones."""
BATCH = 2
"""Repetitions between two looks at the budget."""
SMALLEST_SIZE, LARGEST_SIZE = 16, 4096
TRIAL_SHARE = 0.25
"""Of what is left, for trying out what a repetition costs; one that costs more cannot be repeated eight times."""
DEARER = 1.3
"""Times what an episode of the trial costs: larger repetitions go further. What is left over pays for more of them."""
RUNAWAY = 3.0
"""Times its share of the budget after which a repetition is stopped."""
KEPT_FAILURES = 20
AS_MANY_AS_THERE_IS_TIME_FOR = 10**12
"""Steps of a budget that has seconds alone."""


@begun_again_if_stochastic
def estimate_failure(
    task: Task,
    agent: Agent,
    danger: Callable[[Transition], float] | None = None,
    length: int | None = RiskConfig.length,
    budget: Budget | None = None,
    seed: int = 0,
    *,
    engine: Engine | None = None,
    backend: str = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> FailureEstimate:
    """The probability that an episode from the task's own starts ends unsafe.

    Reset seeds are drawn as in use; what is random is what the agent and the environment declare (``epsilon``, sampled
    behaviour, the environment's own randomness). Failures that plain episodes meet often are counted. Rare ones are
    estimated by adaptive multilevel splitting on exact snapshots, which is unbiased whatever its guide.

    Args:
        task: The task to be solved.
        agent: The agent, with the noise it has in use.
        danger: A number for each transition, higher when closer to harm; None: a guide is learned.
        length: Watch at most so many steps of an episode; None: until it ends.
        budget: Steps to spend, learning included; default: 200,000. Seconds are turned into steps by the speed of the
            first plain episodes, so that with them the answer depends on the machine. Eight repetitions are finished
            once begun, so it may be passed where they are dearer than the trial.
        seed: Determines everything random.
        engine: The engine whose workers to use; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    limits = _limits(budget)
    RiskConfig.require(length=length, steps=limits.steps)
    work = _Work(task, agent, length, seed, limits, on_progress)
    pilot = work.pilot()
    work.keep_to_time()
    if work.quiet:
        return work.of_starts_alone(pilot)
    if pilot.rate >= COMMON:
        return work.counted(pilot)
    if work.most_steps < 4 * work.spent:
        return work.counted(pilot, work.hardly_begun(pilot))
    guide = GivenGuide(task, danger) if danger is not None else work.learned_guide(pilot)
    if isinstance(guide, NoGuide):
        return work.counted(pilot, "no failure was met even with random actions, so nothing tells what comes close")
    with borrowed_engine(task, {agent.name: agent}, engine, backend, workers) as runner:
        tried = work.tried(runner, guide)
        fitting = work.left / REPETITIONS / tried.each
        if fitting < SMALLEST_SIZE:
            return work.counted(pilot, work.too_little(tried.each))
        size = int(np.clip(fitting / DEARER, SMALLEST_SIZE, LARGEST_SIZE))
        repetitions = work.repeated(runner, guide, size, tried)
    return work.from_splitting(repetitions, guide, pilot)


def _limits(budget: Budget | None) -> Budget:
    """With steps always: an estimate plans by them."""
    if budget is None or budget == Budget():
        return Budget(steps=RiskConfig.steps)
    if not isinstance(budget, Budget):
        raise UsageError(f"a budget is given as in tr.Budget(steps=200_000) or tr.Budget(seconds=60), not {budget!r}")
    return replace(budget, steps=AS_MANY_AS_THERE_IS_TIME_FOR) if budget.steps is None else budget


@dataclass(frozen=True)
class _Plain:
    """Plain episodes."""

    paths: list[Path]
    steps: int

    @property
    def failures(self) -> int:
        return sum(path.failed for path in self.paths)

    @property
    def rate(self) -> float:
        return self.failures / len(self.paths)


class _Work:
    """One estimate under way: what is spent, and the ways it can end."""

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
        self.most_steps = limits.steps
        self._meter = limits.start()
        self.on_progress = on_progress
        self.spent = 0
        self.quiet = agent.deterministic and conformance_of(task).deterministic

    @property
    def left(self) -> int:
        return max(0, self.most_steps - self.spent)

    def pilot(self) -> _Plain:
        """The first plain episodes; fewer where they are long."""
        first = self.plain(FEWEST_IN_PILOT, "pilot")
        fitting = int(PILOT_SHARE * self.most_steps / max(1.0, first.steps / FEWEST_IN_PILOT))
        more = min(fitting, PILOT_EPISODES) - FEWEST_IN_PILOT
        if more <= 0:
            return first
        rest = self.plain(more, "pilot, more")
        return _Plain([*first.paths, *rest.paths], first.steps + rest.steps)

    def keep_to_time(self) -> None:
        """Turn a limit in seconds into steps, by how many the pilot made in a second.

        Everything after it is planned in steps. So only with such a limit does the answer depend on the machine.
        """
        seconds = self._meter.budget.seconds
        if seconds is not None:
            fitting = int(self.spent / max(self._meter.seconds, 1e-6) * seconds)
            self.most_steps = max(self.spent, min(self.most_steps, fitting))

    def plain(self, episodes: int, name: str) -> _Plain:
        """Plain episodes, watched, so that a guide can learn from those that fail."""
        swarm = Swarm(self.task, self.agent, NoGuide(), length=self.length, watch=True)
        try:
            seeds = [derive_seed("risk", self.seed, name, number) for number in range(episodes)]
            played = _Plain(swarm.from_resets(seeds), swarm.steps)
        finally:
            swarm.close()
        self.spent += played.steps
        self.say(f"{played.failures} of {episodes} plain episodes failed")
        return played

    def learned_guide(self, pilot: _Plain) -> Guide:
        """A guide learned from the pilot and from ever noisier episodes."""
        lessons, steps = noisy_lessons(
            self.task,
            self.agent,
            length=self.length,
            seed=self.seed,
            most_steps=int(GUIDE_SHARE * self.most_steps),
            known=pilot.paths,
        )
        self.spent += steps
        guide = fitted_guide(self.task, lessons)
        self.say(f"guide: {guide.name}")
        return guide

    def tried(self, runner: Engine, guide: Guide) -> Trial:
        """A small repetition, to know what the others cost."""
        order = self._order(guide, SMALLEST_SIZE, "trial", TRIAL_SHARE * self.left)
        found: Trial = runner.map(trial, [order])[0]
        self.spent += found.steps
        return found

    def hardly_begun(self, pilot: _Plain) -> str:
        """Why splitting was not tried."""
        return (
            f"the budget of {self.most_steps:,} steps pays for little more than {len(pilot.paths)} episodes, so plain "
            f"episodes were counted, {len(pilot.paths)} at the least"
        )

    def too_little(self, each: float) -> str:
        """Why splitting was left, and what it would have taken."""
        needed = self.spent + REPETITIONS * SMALLEST_SIZE * each
        return (
            f"the budget of {self.most_steps:,} steps is too small for eight repetitions of splitting, so plain "
            f"episodes were counted; splitting takes more than {round(needed, -3):,.0f} steps here"
        )

    def repeated(self, runner: Engine, guide: Guide, size: int, tried: Trial) -> list[Repetition]:
        """Repetitions of one size until what is left would not pay for another batch."""
        done: list[Repetition] = []
        while len(done) < REPETITIONS or self._another_fits(done):
            numbers = range(len(done), len(done) + BATCH)
            most = RUNAWAY * size * tried.each
            orders = [self._order(guide, size, number, most, tried.roulette) for number in numbers]
            batch = runner.map(repetition, orders)
            done += batch
            self.spent += sum(each.steps for each in batch)
            self.say(f"{len(done)} repetitions: {np.mean([each.estimate for each in done]):.2g}")
        return done

    def _order(
        self, guide: Guide, size: int, name: object, most_steps: float, roulette: Roulette | None = None
    ) -> Order:
        seed = derive_seed("risk repetition", self.seed, name)
        return Order(self.agent, guide, self.length, size, seed, most_steps, roulette)

    def _another_fits(self, done: Sequence[Repetition]) -> bool:
        return BATCH * float(np.mean([each.steps for each in done])) <= self.left

    def of_starts_alone(self, pilot: _Plain) -> FailureEstimate:
        note = (
            "neither the agent nor the environment is random after reset: its risk lies in its starts alone; declare "
            "the noise it has in use (epsilon, sampled behaviour) if there is any"
        )
        return self.counted(pilot, note)

    def counted(self, pilot: _Plain, *notes: str) -> FailureEstimate:
        """Plain Monte Carlo with what is left of the budget."""
        more = int(self.left / max(1.0, pilot.steps / len(pilot.paths)))
        rest = self.plain(more, "plain") if more else _Plain([], 0)
        paths = [*pilot.paths, *rest.paths]
        failures = sum(path.failed for path in paths)
        return self._result(
            probability=plain_estimate(failures, len(paths)),
            method=PLAIN,
            guide="none",
            notes=notes,
            failures=tuple(path.trace for path in paths if path.trace is not None)[:KEPT_FAILURES],
            episode_steps=(pilot.steps + rest.steps) / len(paths),
        )

    def from_splitting(self, repetitions: list[Repetition], guide: Guide, pilot: _Plain) -> FailureEstimate:
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
        if self.on_progress is not None:
            self.on_progress(Progress("risk", min(self.spent, self.most_steps), self.most_steps, note))

    def _result(self, **found: Any) -> FailureEstimate:
        return FailureEstimate(
            task=self.task.label, agent=self.agent.name, cost=self.spent, length=self.length, **found
        )
