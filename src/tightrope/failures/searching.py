"""``search_failures``: the agent's own runs, disturbed a little, until it fails.

From moments of the runs an action is held for some steps, or the agent sees through noise for a while; then it plays on
by itself. Which moments, actions and lengths to try next is drawn by what failed before (Thompson sampling), and a
situation that was met already counts for nothing. What fails is tried again with half of the disturbance, as long as it
still fails: the smaller it is, the more likely in use.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tightrope.agents.agent import Agent
from tightrope.budget import Budget, Meter
from tightrope.execution import Engine, Episode, Rollout, begun_again_if_stochastic, borrowed_engine
from tightrope.failures.blurred import BlurredAgent
from tightrope.failures.causes import most_likely_first, one_of_each_cause
from tightrope.failures.likelihood import candidates, log_likelihood
from tightrope.failures.moments import find_moments, price
from tightrope.failures.result import Disturbance, FailureSearch, FoundFailure
from tightrope.outcome import Outcome, StopReason
from tightrope.progress import Progress, ProgressCallback
from tightrope.seeding import derive_seed, generator
from tightrope.settings import LIBRARY_BACKEND, FailuresConfig
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

DEFAULT_BUDGET = Budget(steps=FailuresConfig.steps)
MOMENTS_SHARE = 0.5
"""Of the budget, kept for finding out when each failure was lost, and whether somebody would have survived."""
RUNS_SHARE = 0.4
"""Of the rest, at most so much for the runs that are disturbed."""
MOST_RUNS = 64
SECTIONS = 8
"""Parts of a run that are told apart by how often disturbances in them made the agent fail."""
MOMENTS_AT_A_TIME = 4
RESET = "reset"
"""The arm for a run from another reset, which is no disturbance at all."""
AT_A_TIME = 16
"""Disturbances that are drawn before the outcome of any is known."""


@begun_again_if_stochastic
def search_failures(
    task: Task,
    agent: Agent,
    budget: Budget | None = None,
    seed: int = 0,
    *,
    longest: int = FailuresConfig.longest,
    noise: float = FailuresConfig.noise,
    reset_seeds: int = FailuresConfig.reset_seeds,
    length: int = FailuresConfig.length,
    moments: bool = True,
    engine: Engine | None = None,
    backend: str = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> FailureSearch:
    """Look for failures near the agent's own runs: small disturbances after which it fails.

    Every failure is an action trace that replays without the agent. Those with one cause are one, and the most likely
    come first.

    Args:
        task: What is to be solved.
        agent: Who is tested.
        budget: What all of it may cost; default: 50,000 steps.
        seed: All randomness follows from it.
        longest: Steps that an action is held, or noise lasts, at most.
        noise: How far each number of an observation may be off; 0: the agent sees what there is.
        reset_seeds: Resets that the agent's runs begin from, the task's own first.
        length: Steps in which it must fail after a disturbance.
        moments: Whether to find the moment each was lost and who survives there, with half of the budget.
        engine: Where to run; default: one made for the occasion.
        backend: Of an engine made for the occasion, by its name.
        workers: Of an engine made for the occasion; default: one for each core.
        on_progress: Told how far the work has come.
    """
    FailuresConfig.require(longest=longest, noise=noise, reset_seeds=reset_seeds, length=length)
    blurred = BlurredAgent(agent, noise, task.observation_space) if noise else None
    agents: dict[str, Agent] = {agent.name: agent} | ({blurred.name: blurred} if blurred else {})
    with borrowed_engine(task, agents, engine, backend, workers) as runner:
        meter = (budget or DEFAULT_BUDGET).start()
        search = _Search(
            engine=runner,
            agent=agent.name,
            blurred=None if blurred is None else blurred.name,
            noise=noise,
            longest=longest,
            length=length,
            seed=seed,
            meter=meter,
            on_progress=on_progress,
        )
        stop_reason = search.run(reset_seeds, MOMENTS_SHARE if moments else 0.0)
        found = search.with_moments() if moments else search.found
        return FailureSearch(
            task=task.label,
            agent=agent.name,
            failures=one_of_each_cause(found),
            episodes=search.episodes,
            failed=len(found),
            steps=meter.steps,
            stop_reason=stop_reason,
        )


@dataclass(frozen=True)
class _Try:
    """A disturbance to be tried."""

    run: int
    depth: int
    steps: int
    action: Action | None
    arms: tuple[Hashable, ...]
    survived: int = 0
    """The longest disturbance of this kind that was survived."""
    fails: int = 0
    """The shortest that was not; 0: none is known."""


@dataclass(kw_only=True)
class _Search:
    """One call of ``search_failures``."""

    engine: Engine
    agent: str
    blurred: str | None
    noise: float
    longest: int
    length: int
    seed: int
    meter: Meter
    on_progress: ProgressCallback | None
    runs: list[Episode] = field(default_factory=list)
    """What is disturbed: runs of the agent, and what it survived only just."""
    before: list[Disturbance] = field(default_factory=list)
    """What was done to each of them already."""
    found: list[FoundFailure] = field(default_factory=list)
    episodes: int = 0

    def __post_init__(self) -> None:
        self._rng = generator("failures", self.seed, self.agent)
        self._tries: defaultdict[Hashable, list[int]] = defaultdict(lambda: [0, 0])
        self._met: set[int] = set()
        self._runs_met: set[tuple[Hashable, ...]] = set()
        self._smaller: list[_Try] = []
        self._resets = 0

    def run(self, reset_seeds: int, kept: float) -> StopReason:
        """Play the runs, then disturb them until what may be spent is spent."""
        whole = self.meter.remaining()
        share = whole.share(1 - kept).start()
        self._play_runs(reset_seeds, whole.share((1 - kept) * RUNS_SHARE).start())
        share.spend(self.meter.steps)
        idle = 0
        while self._resets and not share.spent and idle < AT_A_TIME:
            before = self.meter.steps
            if not self.runs or self._best([RESET, *self._places]) == RESET:
                new = int(self._play_run())
            else:
                left = share.remaining().steps
                dearest = self.length + self.longest
                new = self._play(self._draw(AT_A_TIME if left is None else max(1, min(AT_A_TIME, left // dearest))))
            idle = 0 if new else idle + 1
            share.spend(self.meter.steps - before)
            if self.on_progress is not None:
                note = f"{len(self.found)} failures in {self.episodes} episodes"
                self.on_progress(Progress("failures", self.meter.steps, whole.steps, note))
        return StopReason.BUDGET_SPENT if share.spent else StopReason.EXHAUSTED

    def with_moments(self) -> list[FoundFailure]:
        """The failures with the moments they were lost, the most likely first while the budget lasts."""
        ordered, done = most_likely_first(self.found), list[FoundFailure]()
        while len(done) < len(ordered) and not self.meter.spent:
            # What has to be replayed is dear: a few that are known are worth more than many begun.
            count = 1 if self.engine.conformance.method == REPLAY else MOMENTS_AT_A_TIME
            part = ordered[len(done) : len(done) + count]
            left = self.meter.remaining().steps
            found, steps = find_moments(
                self.engine, [each.episode for each in part], [self.agent], limit=math.inf if left is None else left
            )
            self.meter.spend(steps)
            done += [replace(each, moment=moment, looked=True) for each, moment in zip(part, found, strict=True)]
        return done + ordered[len(done) :]

    def _play_runs(self, reset_seeds: int, share: Meter) -> None:
        for _ in range(reset_seeds):
            if share.spent:
                return
            before = self.meter.steps
            self._play_run()
            share.spend(self.meter.steps - before)

    def _play_run(self) -> bool:
        """A run from another reset; one that fails is found, any other can be disturbed. False: it showed nothing."""
        number, self._resets = self._resets, self._resets + 1
        reset = self.engine.task.seed if number == 0 else derive_seed("failure start", self.seed, number)
        start, seed = ActionTrace(self.engine.task.label, reset), derive_seed("failure run", self.seed, number)
        [episode] = self._run([Rollout(start=start, agent=self.agent, seed=seed, fixed_prefix=True)])
        self.episodes += 1
        if episode.error is not None or not episode.actions:
            return False
        # Where every reset is the same, every run is the one before: the same failure again is no failure found.
        shown = (episode.checksum, episode.actions, episode.outcome)
        if shown in self._runs_met:
            self._learn((RESET,), False)
            return False
        self._runs_met.add(shown)
        failed = self._note(episode, Disturbance(reset=reset, depth=0))
        self._learn((RESET,), failed)
        if not failed:
            self._add(episode, Disturbance(reset=reset, depth=0))
        return True

    def _draw(self, count: int) -> list[_Try]:
        """Smaller versions of what failed, then what is drawn."""
        smaller, self._smaller = self._smaller[:count], self._smaller[count:]
        return smaller + [self._drawn() for _ in range(count - len(smaller))]

    def _drawn(self) -> _Try:
        run, part = self._best(self._places)
        trace, first = self.runs[run].trace, self.runs[run].prefix_steps
        depth = first + int((part + self._rng.random()) / SECTIONS * (len(trace) - first))
        actions = candidates(self.engine.task, trace.actions[depth], self._rng)
        kinds = [*range(len(actions)), *([-1] if self.blurred else [])]
        steps = int(2 ** self._rng.integers(0, int(np.log2(self.longest)) + 1))
        own = set(trace.actions[depth : depth + steps])
        kind = self._best([each for each in kinds if each == -1 or own != {actions[each]}] or kinds)
        return _Try(run, depth, steps, None if kind == -1 else actions[kind], ((run, part), kind))

    @property
    def _places(self) -> list[tuple[int, int]]:
        return [(run, part) for run in range(len(self.runs)) for part in range(SECTIONS)]

    def _learn(self, arms: Sequence[Hashable], failed: bool) -> None:
        for arm in arms:
            self._tries[arm][0] += 1
            self._tries[arm][1] += failed

    def _best(self, arms: Sequence[Any]) -> Any:
        """The arm with the highest draw from what is known of its rate of failures."""
        draws = [self._rng.beta(1 + self._tries[arm][1], 2 + self._tries[arm][0] - self._tries[arm][1]) for arm in arms]
        return arms[int(np.argmax(draws))]

    def _play(self, tries: Sequence[_Try]) -> int:
        """Play disturbances, then the agent; how many situations were new."""
        starts = list(self._starts(tries))
        rollouts = [
            Rollout(start=start, agent=self.agent, length=self.length, seed=self._seed(start), fixed_prefix=True)
            for start in starts
        ]
        new = 0
        self.episodes += len(rollouts)
        for tried, episode in zip(tries, self._run(rollouts), strict=True):
            if not episode.reached_handover or episode.error is not None or episode.checksum is None:
                continue
            is_new = episode.checksum not in self._met
            self._met.add(episode.checksum)
            new += is_new
            failed = is_new and self._note(episode, self._disturbance(tried))
            self._learn(tried.arms, failed)
            self._halve(tried, failed, episode)
        return new

    def _halve(self, tried: _Try, failed: bool, episode: Episode) -> None:
        """What failed is tried with less, and what did not although more did, with more; the longest that is survived
        leads to where little is needed for a failure, so that it is disturbed again."""
        fails = tried.steps if failed else tried.fails
        survived = tried.survived if failed else tried.steps
        if fails and fails - survived > 1:
            self._smaller.append(replace(tried, steps=(fails + survived) // 2, survived=survived, fails=fails))
        elif fails and not failed and len(self.runs) < MOST_RUNS:
            self._add(episode, self._disturbance(tried))

    def _add(self, episode: Episode, disturbance: Disturbance) -> None:
        if episode.actions:
            self.runs.append(episode)
            self.before.append(disturbance)

    def _starts(self, tries: Sequence[_Try]) -> Iterator[ActionTrace]:
        """The ways to where each disturbance ends."""
        prefixes = [self.runs[tried.run].trace.prefix(tried.depth) for tried in tries]
        blurred = [
            Rollout(start=prefix, agent=self.blurred, length=tried.steps, seed=self._seed(prefix), fixed_prefix=True)
            for prefix, tried in zip(prefixes, tries, strict=True)
            if tried.action is None
        ]
        seen = iter(self._run(blurred))
        if self.engine.conformance.method != REPLAY:
            self.meter.spend(sum(tried.steps for tried in tries if tried.action is not None))
        for prefix, tried in zip(prefixes, tries, strict=True):
            yield next(seen).trace if tried.action is None else prefix.then([tried.action] * tried.steps)

    def _seed(self, start: ActionTrace) -> int:
        return derive_seed("failure", self.seed, self.episodes, start.id)

    def _disturbance(self, tried: _Try) -> Disturbance:
        run = self.runs[tried.run]
        own = run.trace.actions[tried.depth : tried.depth + tried.steps]
        return Disturbance(
            reset=run.trace.seed,
            depth=tried.depth,
            steps=tried.steps,
            action=tried.action,
            noise=self.noise if tried.action is None else 0.0,
            earlier=self.before[tried.run],
            log_likelihood=0.0 if tried.action is None else log_likelihood(self.engine.task, tried.action, own),
        )

    def _note(self, episode: Episode, disturbance: Disturbance) -> bool:
        if episode.outcome is not Outcome.UNSAFE:
            return False
        self.found.append(FoundFailure(episode=episode, disturbance=disturbance))
        return True

    def _run(self, rollouts: Sequence[Rollout]) -> list[Episode]:
        episodes = self.engine.run(rollouts)
        self.meter.spend(price(self.engine, episodes))
        return episodes
