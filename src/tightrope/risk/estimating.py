"""``estimate_failure``: how likely an episode in use ends unsafe, down to one in a million."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tightrope.agents.agent import Agent
from tightrope.budget import Budget
from tightrope.execution import Engine, begun_again_if_stochastic, borrowed_engine
from tightrope.progress import ProgressCallback
from tightrope.risk.guides import GivenGuide, NoGuide
from tightrope.risk.lesson_sources import LessonSource
from tightrope.risk.lessons import lessons_from
from tightrope.risk.result import FailureEstimate
from tightrope.risk.work import COMMON, FEWEST_EPISODES, Work
from tightrope.settings import LIBRARY_BACKEND, BackendName, RiskConfig
from tightrope.tasks.task import Task, Transition

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
    learn_from: LessonSource | None = None,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
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
            first plain episodes, so that with them the answer depends on the machine. It is kept, but for the first
            eight plain episodes.
        seed: Determines everything random.
        learn_from: What the guide is learned from where there is no ``danger``: a run (``open_run``), results of
            suites, plain episodes or searches for failures, explanations, references, episodes, traces of failures, or
            lists of these. Their episodes are replayed, which counts. None, or too few fails: episodes with random
            actions.
        engine: The engine whose workers to use; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    limits = _limits(budget)
    RiskConfig.require(length=length, steps=limits.steps)
    known = [] if learn_from is None else lessons_from(task, agent.name, learn_from)
    work = Work(task, agent, length, seed, limits, on_progress)
    pilot = work.pilot()
    work.keep_to_time()
    if work.quiet:
        return work.of_starts_alone(pilot)
    if pilot.rate >= COMMON:
        return work.counted(pilot)
    if work.most_steps < 4 * work.spent:
        return work.counted(pilot, work.hardly_begun(pilot))
    guide = GivenGuide(task, danger) if danger is not None else work.learned_guide(pilot, known)
    if isinstance(guide, NoGuide):
        return work.counted(
            pilot, "no failure was met even with random actions, so nothing shows what comes close to one"
        )
    with borrowed_engine(task, {agent.name: agent}, engine, backend, workers) as runner:
        tried = work.tried(runner, guide)
        if work.left < FEWEST_EPISODES * tried.each:
            return work.counted(pilot, work.too_little(tried.each))
        repetitions = work.repeated(runner, guide, tried)
    return work.from_splitting(repetitions, guide, pilot)


def _limits(budget: Budget | None) -> Budget:
    """With steps always: an estimate plans by them."""
    if budget is None or budget == Budget():
        return Budget(steps=RiskConfig.steps)
    return replace(budget, steps=AS_MANY_AS_THERE_IS_TIME_FOR) if budget.steps is None else budget
