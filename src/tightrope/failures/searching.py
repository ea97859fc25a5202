"""``search_failures``: the agent's own runs, disturbed a little, until it fails.

From moments of the runs an action is held for some steps, random ones are played, or the agent sees through noise for a
while; then it plays on by itself. Which moments, actions and lengths to try next, or whether a run from another reset
is worth more, is drawn by what failed before and what it cost (Thompson sampling), and a situation that was met already
counts for nothing. What fails is tried again with half of the disturbance, as long as it still fails: the smaller it
is, the more likely in use.
"""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.agents.agent import Agent
from tightrope.budget import Budget
from tightrope.execution import Engine, begun_again_if_stochastic, borrowed_engine
from tightrope.failures.bandit import Arms
from tightrope.failures.blurred import BlurredAgent
from tightrope.failures.causes import one_of_each_cause
from tightrope.failures.disturbing import Disturbing
from tightrope.failures.ledger import Ledger
from tightrope.failures.lost import with_moments
from tightrope.failures.own_runs import OwnRuns
from tightrope.failures.result import FailureSearch
from tightrope.failures.tries import AGAIN, BEGINNING, MOMENT, NOISE, RESET, Tries
from tightrope.failures.worth import Worth
from tightrope.outcome import StopReason
from tightrope.progress import Progress, ProgressCallback
from tightrope.seeding import generator
from tightrope.settings import LIBRARY_BACKEND, BackendName, FailuresConfig
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.statistics.words import count
from tightrope.tasks.task import Task

DEFAULT_BUDGET = Budget(steps=FailuresConfig.steps)
MOMENTS_SHARE = 0.5
"""Of the budget, kept for finding out when each failure was lost, and whether somebody would have survived."""
RUNS_SHARE = 0.1
"""Of the rest, so much for the first runs that are disturbed; more are played where they are worth it."""
AT_A_TIME = 4
"""Disturbances and runs that are drawn before the outcome of any is known."""
HOPES = {RESET: 0.02, MOMENT: 0.5}
"""Failures that a choice is taken to have brought before it was ever made, of 1 for the others. Runs that nobody
disturbs are what plain episodes are made of: an agent that fails in them shows it soon. What holds an action at a
moment hardly ever makes an agent fail that steers well, and where it does, it does so often."""
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
        ledger = Ledger(engine=runner, agent=agent.name, seed=seed, meter=meter)
        search = _Search(
            ledger=ledger,
            blurred=None if blurred is None else blurred.name,
            noise=noise,
            longest=longest,
            length=length,
            reset_seeds=reset_seeds,
            on_progress=on_progress,
        )
        stop_reason = search.run(MOMENTS_SHARE if moments else 0.0)
        found = with_moments(runner, agent.name, ledger.found, meter) if moments else ledger.found
        return FailureSearch(
            task=task.label,
            agent=agent.name,
            failures=one_of_each_cause(found),
            episodes=ledger.episodes,
            judged=ledger.judged,
            failed=len(found),
            steps=meter.steps,
            stop_reason=stop_reason,
            errors=len(ledger.errors),
            first_error=next(iter(ledger.errors), ""),
        )


@dataclass(kw_only=True)
class _Search:
    """One call of ``search_failures``."""

    ledger: Ledger
    blurred: str | None
    noise: float
    longest: int
    length: int
    reset_seeds: int
    on_progress: ProgressCallback | None

    def __post_init__(self) -> None:
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
        self._runs = OwnRuns(self.ledger, self._tries, self._arms, worth)
        self._disturbing = Disturbing(
            self.ledger, self._tries, self._arms, worth, self.blurred, lambda: self._runs.all_alike
        )

    def run(self, kept: float) -> StopReason:
        """Play the runs, then disturb them until what may be spent is spent."""
        meter, disturbing = self.ledger.meter, self._disturbing
        whole = meter.remaining()
        share = whole.share(1 - kept).start()
        self._runs.play_first(self.reset_seeds, whole.share((1 - kept) * RUNS_SHARE).start())
        share.spend(meter.steps)
        idle = 0
        while self._runs.played and not share.spent and (idle < IN_VAIN or disturbing.smaller):
            before = meter.steps
            left = share.remaining().steps
            count = AT_A_TIME if left is None else max(1, min(AT_A_TIME, left // (self.length + self.longest)))
            smaller = disturbing.take(count)
            sources = [self._arms.best(self._sources, HOPES) for _ in range(count - len(smaller))]
            new = disturbing.play([*smaller, *(self._tries.drawn(source) for source in sources if source != RESET)])
            new += sum(self._runs.play() for source in sources if source == RESET and not share.spent)
            idle = 0 if new else idle + count
            if idle >= NOTHING_NEW and disturbing.again():
                idle = 0
            share.spend(meter.steps - before)
            self._tell(whole)
        return StopReason.BUDGET_SPENT if share.spent else StopReason.EXHAUSTED

    def _tell(self, whole: Budget) -> None:
        if self.on_progress is not None:
            note = f"{count(len(self.ledger.found), 'failure')} in {count(self.ledger.episodes, 'episode')}"
            self.on_progress(Progress("failures", self.ledger.meter.steps, whole.steps, note))

    @property
    def _sources(self) -> list[str]:
        runs = [] if self._runs.all_alike else [RESET]
        # Where chance decides, what is like a failure was mostly lost before hand-over, which nobody sees cheaply.
        again = [AGAIN] if self._tries.failed and self.ledger.engine.deterministic else []
        moments = [MOMENT, *([NOISE] if self.blurred else [])] if self._tries.runs else []
        return [*runs, BEGINNING, *moments, *again]
