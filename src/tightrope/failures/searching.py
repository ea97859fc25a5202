"""``search_failures``: the agent's own runs, disturbed a little, until it fails.

From moments of the runs an action is held for some steps, random ones are played, or the agent sees through noise for a
while; then it plays on by itself. Which moments, actions and lengths to try next, or whether a run from another reset
is worth more, is drawn by what failed before and what it cost (Thompson sampling), and a situation that was met already
counts for nothing. What fails is tried again with half of the disturbance, as long as it still fails: the smaller it
is, the more likely in use.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace

from tightrope.agents.agent import Agent
from tightrope.budget import Budget
from tightrope.execution import Engine, begun_again_if_stochastic, borrowed_engine
from tightrope.failures.answers import with_answers
from tightrope.failures.bandit import Arms
from tightrope.failures.blurred import BlurredAgent
from tightrope.failures.causes import one_of_each_cause
from tightrope.failures.choosing import PLAIN, SEARCH, Choosing
from tightrope.failures.disturbing import Disturbing
from tightrope.failures.ledger import Ledger
from tightrope.failures.lost import USUAL, with_moments
from tightrope.failures.own_runs import OwnRuns
from tightrope.failures.result import FailureSearch, WayTaken
from tightrope.failures.tries import AGAIN, BEGINNING, MOMENT, NOISE, RESET, Tries
from tightrope.failures.worth import Worth
from tightrope.outcome import StopReason
from tightrope.progress import Progress, ProgressCallback
from tightrope.seeding import generator
from tightrope.settings import LIBRARY_BACKEND, BackendName, FailureMethod, FailuresConfig, FailureWay
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.statistics.words import count
from tightrope.tasks.task import Task

DEFAULT_BUDGET = Budget(steps=FailuresConfig.steps)
RUNS_SHARE = 0.1
"""Of the rest, so much for the first runs that are disturbed; more are played where they are worth it."""
ASKING = 0.5
"""Of the steps for judging, so much at most for what the agent would have done: it is to be led to each disturbance."""
AT_A_TIME = 4
"""Disturbances and runs that are drawn before the outcome of any is known."""
HOPE_OF_RUNS, HOPE_AT_MOMENTS = 0.1, 0.5
"""Failures that a choice is taken to have brought before it was ever made, of 1 for the others. Runs that nobody
disturbs have so much for as many steps as are watched after a disturbance, so that what long ones and short ones take
is the same: of an agent that lives long they tell little for their steps, and where episodes are short, two or three
that were survived do not yet show that it never fails by itself. What holds an action at a moment hardly ever makes an
agent fail that steers well, and where it does, it does so often."""
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
    method: FailureMethod = FailuresConfig.method,
    longest: int = FailuresConfig.longest,
    noise: float = FailuresConfig.noise,
    reset_seeds: int = FailuresConfig.reset_seeds,
    length: int = FailuresConfig.length,
    judging: float = FailuresConfig.judging,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
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
        method: ``"plain"`` plays plain episodes alone, ``"search"`` disturbs them, and ``"auto"`` gives the steps to
            what brings more new causes for them.
        longest: Steps that an action is held, or noise lasts, at most.
        noise: How far each number of an observation may be off; 0: the agent sees what there is.
        reset_seeds: Resets that the agent's runs begin from, the task's own first.
        length: Steps in which it must fail after a disturbance.
        judging: Most of the budget that may go into the moment each failure was lost and who survives there, as a
            share; the rest goes into finding more. 0: nobody looks.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    FailuresConfig.require(
        method=method, longest=longest, noise=noise, reset_seeds=reset_seeds, length=length, judging=judging
    )
    blurred = BlurredAgent(agent, noise, task.observation_space) if noise else None
    agents: dict[str, Agent] = {agent.name: agent} | ({blurred.name: blurred} if blurred else {})
    with borrowed_engine(task, agents, engine, backend, workers) as runner:
        meter = (budget or DEFAULT_BUDGET).start()
        ledger = Ledger(engine=runner, agent=agent.name, seed=seed, meter=meter)
        search = _Search(
            ledger=ledger,
            method=method,
            blurred=None if blurred is None else blurred.name,
            noise=noise,
            longest=longest,
            length=length,
            reset_seeds=reset_seeds,
            judging=judging,
            on_progress=on_progress,
        )
        stop_reason = search.run()
        return FailureSearch(
            task=task.label,
            agent=agent.name,
            failures=one_of_each_cause(ledger.found),
            episodes=ledger.episodes,
            judged=ledger.judged,
            failed=len(ledger.found),
            steps=meter.steps,
            judging_steps=search.judging_steps,
            stop_reason=stop_reason,
            errors=len(ledger.errors),
            first_error=next(iter(ledger.errors), ""),
            method=method,
            ways=search.ways,
        )


@dataclass(kw_only=True)
class _Search:
    """One call of ``search_failures``."""

    ledger: Ledger
    method: FailureMethod
    blurred: str | None
    noise: float
    longest: int
    length: int
    reset_seeds: int
    judging: float
    on_progress: ProgressCallback | None
    judging_steps: int = 0

    def __post_init__(self) -> None:
        self._in_vain: Counter[FailureWay] = Counter()
        """Tries in a row of each way that led nowhere new."""
        self._asking_steps = 0
        self._whole = self.ledger.meter.remaining()
        self._judges_no_more = not self.judging
        engine, seed = self.ledger.engine, self.ledger.seed
        rng = generator("failures", seed, self.ledger.agent)
        self._arms = Arms(rng, self.length)
        self._tries = Tries(
            task=engine.task,
            arms=self._arms,
            rng=rng,
            seed=seed,
            longest=self.longest,
            noise=self.noise,
            length=self.length,
            replayed=engine.conformance.method == REPLAY,
            chance=not engine.deterministic,
        )
        worth = Worth(self.ledger, rng)
        self._choosing = Choosing(self.ledger, worth, self.length)
        self._runs = OwnRuns(self.ledger, self._tries, self._arms, worth)
        self._disturbing = Disturbing(
            self.ledger, self._tries, self._arms, worth, self.blurred, lambda: self._runs.all_alike
        )

    def run(self) -> StopReason:
        """Find and judge in turns until what may be spent is spent, or nothing more is left to be found."""
        first = self._whole.share((1 - self.judging) * RUNS_SHARE)
        with self._choosing.on(PLAIN):
            self._runs.play_first(self.reset_seeds, first.start())
        while True:
            stop_reason = self._find()
            self._judge(stop_reason)
            if stop_reason is StopReason.EXHAUSTED or self.ledger.meter.spent:
                return stop_reason

    @property
    def ways(self) -> tuple[WayTaken, ...]:
        """How the steps for finding were divided."""
        return self._choosing.taken

    def _find(self) -> StopReason:
        """Disturb the runs, and play more, until what is left is kept for judging."""
        while self._left and self._runs.played and (ways := self._ways_left):
            if self._choosing.best(ways) == PLAIN:
                self._play()
            else:
                self._disturb()
                self._ask()
            self._tell()
        return StopReason.EXHAUSTED if self._left else StopReason.BUDGET_SPENT

    @property
    def _ways_left(self) -> list[FailureWay]:
        """What is allowed and may still show something new."""
        # Where chance decides, a few runs in a row that went alike do not show that all do.
        one_run = self._runs.all_alike and self.ledger.engine.deterministic
        plain = self.method != SEARCH and not one_run and self._in_vain[PLAIN] < IN_VAIN
        search = self.method != PLAIN and (self._in_vain[SEARCH] < IN_VAIN or self._disturbing.smaller)
        return ([PLAIN] if plain else []) + ([SEARCH] if search else [])

    def _play(self) -> bool:
        """One more run that nobody disturbs; whether it showed anything new."""
        # Leading to moments of one more run takes about as many steps as it has.
        with self._choosing.on(PLAIN):
            new = self._runs.play(disturbed=self.method == SEARCH)
        self._in_vain[PLAIN] = 0 if new else self._in_vain[PLAIN] + 1
        return new

    def _disturb(self) -> None:
        """Some disturbances, and the runs that are drawn among them."""
        number = int(max(1, min(AT_A_TIME, self._left // (self.length + self.longest))))
        smaller = self._disturbing.take(number)
        sources = [self._arms.best(self._sources, self._hopes) for _ in range(number - len(smaller))]
        with self._choosing.on(SEARCH):
            tries = [*smaller, *(self._tries.drawn(source) for source in sources if source != RESET)]
            new = self._disturbing.play(tries)
        new += sum(self._play() for source in sources if source == RESET and self._left)
        self._in_vain[SEARCH] = 0 if new else self._in_vain[SEARCH] + number
        if self._in_vain[SEARCH] >= NOTHING_NEW and self._disturbing.again():
            self._in_vain[SEARCH] = 0

    def _ask(self) -> None:
        """What the agent would have done in place of each disturbance: it says how likely the failure is."""
        ledger, whole = self.ledger, self._whole.steps
        left = None if whole is None else max(0, int(ASKING * self.judging * whole) - self._asking_steps)
        meter = Budget(steps=left).start()
        if self.judging:
            ledger.found = with_answers(ledger.engine, ledger.engine.agents[ledger.agent], ledger.found, meter)
            ledger.meter.spend(meter.steps)
            self.judging_steps += meter.steps
            self._asking_steps += meter.steps

    def _judge(self, stop_reason: StopReason) -> None:
        """Look for the moments of what was found: with what is kept for it, or all steps at the end."""
        if self._judges_no_more:
            return
        ledger, left, unknown = self.ledger, self.ledger.meter.remaining(), self._unknown
        if left.steps is not None and stop_reason is not StopReason.EXHAUSTED:
            left = replace(left, steps=int(min(left.steps, self._for_judging)))
        meter = left.start()
        ledger.found = with_moments(ledger.engine, ledger.agent, ledger.found, meter)
        ledger.meter.spend(meter.steps)
        self.judging_steps += meter.steps
        # Steps that are too few for the next one are worth more in finding.
        self._judges_no_more = bool(unknown) and self._unknown == unknown

    @property
    def _unknown(self) -> int:
        """How many failures nobody has looked at."""
        return sum(not each.looked for each in self.ledger.found)

    @property
    def _for_judging(self) -> float:
        """Steps that may still go into judging."""
        steps = self._whole.steps
        return math.inf if steps is None else max(0.0, self.judging * steps - self.judging_steps)

    @property
    def _left(self) -> float:
        """Steps that may go into finding now, beside what is kept for judging; 0: none, or no more time."""
        left, whole = self.ledger.meter.remaining(), self._whole
        unknown = 0 if self._judges_no_more else self._unknown
        if left.seconds is not None and left.seconds <= (self.judging * (whole.seconds or 0) if unknown else 0):
            return 0
        steps = math.inf if left.steps is None else left.steps
        return max(0.0, steps - min(unknown * USUAL, self._for_judging)) if unknown else steps

    def _tell(self) -> None:
        if self.on_progress is not None:
            note = f"{count(len(self.ledger.found), 'failure')} in {count(self.ledger.episodes, 'episode')}"
            self.on_progress(Progress("failures", self.ledger.meter.steps, self._whole.steps, note))

    @property
    def _hopes(self) -> dict[str, float]:
        return {RESET: min(1.0, HOPE_OF_RUNS * self.length / self._runs.usual_steps), MOMENT: HOPE_AT_MOMENTS}

    @property
    def _sources(self) -> list[str]:
        # Whoever chooses between plain runs and disturbances has chosen before.
        runs = [RESET] if self.method == SEARCH and not self._runs.all_alike else []
        # Where chance decides, what is like a failure was mostly lost before hand-over, which nobody sees cheaply.
        again = [AGAIN] if self._tries.failed and self.ledger.engine.deterministic else []
        moments = [MOMENT, *([NOISE] if self.blurred else [])] if self._tries.runs else []
        return [*runs, BEGINNING, *moments, *again]
