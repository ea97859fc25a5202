"""``search_failures``: the agent's own runs, disturbed a little, until it fails.

From moments of the runs an action is held for some steps, random ones are played, or the agent sees through noise for a
while; then it plays on by itself. Which moments, actions and lengths to try next, or whether a run from another reset
is worth more, is drawn by what failed before and what it cost (Thompson sampling), and a situation that was met already
counts for nothing. What fails is tried again with half of the disturbance, as long as it still fails: the smaller it
is, the more likely in use.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tightrope.agents.agent import Agent
from tightrope.budget import Budget, Meter
from tightrope.execution import Engine, Episode, Rollout, begun_again_if_stochastic, borrowed_engine
from tightrope.failures.arms import Arms
from tightrope.failures.blurred import BlurredAgent
from tightrope.failures.causes import one_of_each_cause
from tightrope.failures.lost import with_moments
from tightrope.failures.moments import price
from tightrope.failures.result import Disturbance, FailureSearch, FoundFailure
from tightrope.failures.tries import AGAIN, BEGINNING, MOMENT, RESET, Tries, Try
from tightrope.failures.worth import DOUBT, Worth
from tightrope.outcome import Outcome, StopReason
from tightrope.progress import Progress, ProgressCallback
from tightrope.seeding import derive_seed, generator
from tightrope.settings import LIBRARY_BACKEND, FailuresConfig
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

DEFAULT_BUDGET = Budget(steps=FailuresConfig.steps)
MOMENTS_SHARE = 0.5
"""Of the budget, kept for finding out when each failure was lost, and whether somebody would have survived."""
RUNS_SHARE = 0.1
"""Of the rest, so much for the first runs that are disturbed; more are played where they are worth it."""
MOST_RUNS = 64
ALL_ALIKE = 3
"""Runs in a row that are like earlier ones, after which no other reset is tried: all of them are one."""
AT_A_TIME = 4
"""Disturbances and runs that are drawn before the outcome of any is known."""
HOPES = {RESET: 0.2}
"""Runs that nobody disturbs are what plain episodes are made of: an agent that fails in them shows it soon, and where
it does not they would take a third of all steps."""
NOTHING_NEW = 16
"""Draws in a row that lead nowhere new, after which each action is tried where disturbances led: the world is small."""
IN_VAIN = 48
"""Draws in a row that lead nowhere new, after which all there is has been met."""


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
        task: The task to be solved.
        agent: The agent under test.
        budget: What all of it may cost; default: 50,000 steps.
        seed: Determines everything random.
        longest: Steps that an action is held, or noise lasts, at most.
        noise: How far each number of an observation may be off; 0: the agent sees what there is.
        reset_seeds: Resets that the agent's runs begin from, the task's own first.
        length: Steps in which it must fail after a disturbance.
        moments: Whether to find the moment each was lost and who survives there, with half of the budget.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
        on_progress: Called with a ``Progress`` as the work goes on.
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
            reset_seeds=reset_seeds,
            meter=meter,
            on_progress=on_progress,
        )
        stop_reason = search.run(MOMENTS_SHARE if moments else 0.0)
        found = with_moments(runner, agent.name, search.found, meter) if moments else search.found
        return FailureSearch(
            task=task.label,
            agent=agent.name,
            failures=one_of_each_cause(found),
            episodes=search.episodes,
            failed=len(found),
            steps=meter.steps,
            stop_reason=stop_reason,
        )


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
    reset_seeds: int
    meter: Meter
    on_progress: ProgressCallback | None
    found: list[FoundFailure] = field(default_factory=list)
    episodes: int = 0

    def __post_init__(self) -> None:
        self._rng = generator("failures", self.seed, self.agent)
        self._arms = Arms(self._rng, self.length)
        self._tries = Tries(
            task=self.engine.task,
            arms=self._arms,
            rng=self._rng,
            seed=self.seed,
            longest=self.longest,
            noise=self.noise,
            length=self.length,
            replayed=self.engine.conformance.method == REPLAY,
            chance=not self.engine.deterministic,
        )
        self._met: set[tuple[int, int]] = set()
        """Situations in which the agent took over, with their reset seed: the same place on another map is another."""
        self._survived: list[tuple[Episode, Disturbance]] = []
        """What led to new situations without a failure: disturbed again where nothing else is new."""
        self._runs_met: set[tuple[Hashable, ...]] = set()
        self._smaller: list[Try] = []
        self._resets = 0
        self._is_small = False
        self._repeated = 0
        self._worth = Worth(self.engine, self.agent, self._rng, self._run, self._seed)

    def run(self, kept: float) -> StopReason:
        """Play the runs, then disturb them until what may be spent is spent."""
        whole = self.meter.remaining()
        share = whole.share(1 - kept).start()
        self._play_runs(whole.share((1 - kept) * RUNS_SHARE).start())
        share.spend(self.meter.steps)
        idle = 0
        while self._resets and not share.spent and (idle < IN_VAIN or self._smaller):
            before = self.meter.steps
            left = share.remaining().steps
            count = AT_A_TIME if left is None else max(1, min(AT_A_TIME, left // (self.length + self.longest)))
            smaller, self._smaller = self._smaller[:count], self._smaller[count:]
            sources = [self._arms.best(self._sources, HOPES) for _ in range(count - len(smaller))]
            new = self._play([*smaller, *(self._tries.drawn(source) for source in sources if source != RESET)])
            new += sum(self._play_run() for source in sources if source == RESET and not share.spent)
            idle = 0 if new else idle + count
            if idle >= NOTHING_NEW and self._disturb_again():
                idle = 0
            share.spend(self.meter.steps - before)
            if self.on_progress is not None:
                note = f"{len(self.found)} failures in {self.episodes} episodes"
                self.on_progress(Progress("failures", self.meter.steps, whole.steps, note))
        return StopReason.BUDGET_SPENT if share.spent else StopReason.EXHAUSTED

    def _disturb_again(self) -> bool:
        """Try each action once where disturbances led: farther from normal operation, which is left for last."""
        known = len(self._tries.runs)
        for episode, disturbance in self._survived[: max(0, MOST_RUNS - known)]:
            self._tries.add(episode, disturbance)
        self._survived.clear()
        # The first time from where the first run began as well.
        places = [*range(0 if self._is_small else min(1, known)), *range(known, len(self._tries.runs))]
        self._is_small = True
        self._smaller += [tried for run in places for tried in self._tries.each_action(run)]
        return bool(places)

    def _play_runs(self, share: Meter) -> None:
        for _ in range(self.reset_seeds):
            if share.spent or self._all_alike:
                return
            before = self.meter.steps
            self._play_run()
            share.spend(self.meter.steps - before)

    def _play_run(self) -> bool:
        """A run from another reset; one that fails is found, any other can be disturbed. False: it showed nothing."""
        number, self._resets = self._resets, self._resets + 1
        reset = self._tries.reset(number)
        start, seed = ActionTrace(self.engine.task.label, reset), derive_seed("failure run", self.seed, number)
        plain = Rollout(start=start, agent=self.agent, seed=seed, fixed_prefix=True, record_keys=True)
        [episode] = self._run([plain])
        self.episodes += 1
        if episode.error is not None or not episode.actions:
            return False
        # Where every reset is the same, every run is the one before: the same failure again is no failure found.
        shown = (episode.checksum, episode.actions, episode.rewards, episode.outcome)
        if shown in self._runs_met:
            self._arms.learn((RESET,), 0.0, price(self.engine, [episode]))
            self._repeated += 1
            return False
        self._repeated = 0
        self._runs_met.add(shown)
        failed = self._note(episode, Disturbance(reset=reset, depth=0))
        self._arms.learn((RESET,), self._worth.of(episode) if failed else 0.0, price(self.engine, [episode]))
        if not failed:
            self._tries.add(episode, Disturbance(reset=reset, depth=0))
        return True

    @property
    def _all_alike(self) -> bool:
        """Whether every reset seems to lead to the same world."""
        return self._repeated >= ALL_ALIKE

    @property
    def _sources(self) -> list[str]:
        runs = [] if self._all_alike else [RESET]
        # Where chance decides, what is like a failure was mostly lost before hand-over, which nobody sees cheaply.
        again = [AGAIN] if self._tries.failed and self.engine.deterministic else []
        return [*runs, BEGINNING, *([MOMENT] if self._tries.runs else []), *again]

    def _play(self, tries: Sequence[Try]) -> int:
        """Play disturbances, then the agent; how many situations were new."""
        starts = list(self._starts(tries))
        rollouts = [
            Rollout(
                start=start,
                agent=self.agent,
                length=self.length,
                seed=self._seed(start),
                fixed_prefix=True,
                record_keys=True,
            )
            for start in starts
        ]
        new = 0
        self.episodes += len(rollouts)
        for tried, episode in zip(tries, self._run(rollouts), strict=True):
            if not episode.reached_handover or episode.error is not None or episode.checksum is None:
                self._arms.learn(tried.arms, 0.0, self._price(tried, episode))
                continue
            situation = (0 if self._all_alike else episode.trace.seed, episode.checksum)
            is_new = situation not in self._met
            self._met.add(situation)
            # Where chance decides, the same situation can be lost in another way.
            failed = (is_new or self._tries.chance) and self._note(episode, self._tries.disturbance(tried))
            new += is_new or failed
            worth = self._worth.of(episode) if failed else 0.0
            self._arms.learn(tried.arms, worth, self._price(tried, episode))
            if is_new and not failed and len(self._survived) < MOST_RUNS:
                self._survived.append((episode, self._tries.disturbance(tried)))
            # What is surely lost before hand-over is not made better by being made smaller.
            if not failed or worth >= DOUBT:
                self._halve(tried, failed, episode)
        return new

    def _halve(self, tried: Try, failed: bool, episode: Episode) -> None:
        """What failed is tried with less, and what did not although more did, with more; the longest that is survived
        leads to where little is needed for a failure, so that it is disturbed again."""
        fails = tried.steps if failed else tried.fails
        survived = tried.survived if failed else tried.steps
        if fails and fails - survived > 1:
            self._smaller.append(replace(tried, steps=(fails + survived) // 2, survived=survived, fails=fails))
            return
        if fails:
            self._tries.add_failed(replace(tried, steps=fails))
        if fails and not failed and len(self._tries.runs) < MOST_RUNS:
            self._tries.add(episode, self._tries.disturbance(tried))

    def _starts(self, tries: Sequence[Try]) -> Iterator[ActionTrace]:
        """The ways to where each disturbance ends."""
        prefixes = [self._tries.prefix(tried) for tried in tries]
        blurred = [
            Rollout(start=prefix, agent=self.blurred, length=tried.steps, seed=self._seed(prefix), fixed_prefix=True)
            for prefix, tried in zip(prefixes, tries, strict=True)
            if tried.is_blurred
        ]
        seen = iter(self._run(blurred))
        self.meter.spend(sum(self._price(tried) for tried in tries))
        for prefix, tried in zip(prefixes, tries, strict=True):
            yield next(seen).trace if tried.is_blurred else prefix.then(tried.played)

    def _price(self, tried: Try, *episodes: Episode) -> int:
        """Steps of a disturbance and of what followed; what is replayed is counted with what follows."""
        played = 0 if self._tries.replayed else len(tried.played)
        return played + price(self.engine, episodes)

    def _seed(self, start: ActionTrace) -> int:
        return derive_seed("failure", self.seed, self.episodes, start.id)

    def _note(self, episode: Episode, disturbance: Disturbance) -> bool:
        if episode.outcome is not Outcome.UNSAFE:
            return False
        self.found.append(FoundFailure(episode=replace(episode, keys=None), disturbance=disturbance))
        return True

    def _run(self, rollouts: Sequence[Rollout]) -> list[Episode]:
        episodes = self.engine.run(rollouts)
        self.meter.spend(price(self.engine, episodes))
        return episodes
