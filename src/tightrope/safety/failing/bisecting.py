"""Since when is it worse? The first of a row of checkpoints that fails, in about log2 of their number tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

from tightrope.agents import Agent, load_agent
from tightrope.display import Shown
from tightrope.errors import UsageError
from tightrope.progress import Progress, ProgressCallback
from tightrope.safety.deciding import decide_gate
from tightrope.safety.suites.suite import TestSuite
from tightrope.settings import AgentConfig, BehaviourName, BisectConfig
from tightrope.statistics import Estimate
from tightrope.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class CheckedAgent:
    """One checkpoint that was tested on the way."""

    number: int
    """Its place in the row, from 0 on."""
    agent: str
    passed: bool | None
    """None: flaky, not told within the executions allowed."""
    fail_frequency: Estimate
    executions: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Bisection(Shown):
    """Where in a row of checkpoints a failure begins."""

    _shown = ("first_failing", "last_passing", "flaky", "checked")

    checkpoints: int
    limit: float
    """A fail frequency above it is a fail."""
    checked: tuple[CheckedAgent, ...]
    """Those tested, in the order of the row."""

    @property
    def last_passing(self) -> CheckedAgent | None:
        """The latest that passes before the first that fails."""
        first = self.first_failing
        before = [each for each in self.checked if each.passed and (first is None or each.number < first.number)]
        return before[-1] if before else None

    @property
    def first_failing(self) -> CheckedAgent | None:
        """The first that fails, among those tested."""
        return next((each for each in self.checked if each.passed is False), None)

    @property
    def flaky(self) -> tuple[CheckedAgent, ...]:
        """Those that could not be told, between the last that passes and the first that fails."""
        low = -1 if self.last_passing is None else self.last_passing.number
        high = self.checkpoints if self.first_failing is None else self.first_failing.number
        return tuple(each for each in self.checked if each.passed is None and low < each.number < high)

    @property
    def found(self) -> bool:
        """Whether two neighbours were found of which one passes and the next fails."""
        first, last = self.first_failing, self.last_passing
        return first is not None and last is not None and first.number == last.number + 1

    def sentence(self) -> str:
        """What came out, in one sentence."""
        first, last = self.first_failing, self.last_passing
        if self.found and first is not None and last is not None:
            return f"{first.agent} is the first that fails; {last.agent}, just before it, passes"
        if first is not None and first.number == 0:
            return f"{first.agent}, the oldest, fails already: the failure is older than these checkpoints"
        unclear = ", ".join(each.agent for each in self.flaky)
        if first is None:
            newest = self.checked[-1]
            if newest.passed:
                return f"{newest.agent}, the newest, passes: there is nothing to look for"
            return f"No checkpoint that was tested fails beyond doubt; flaky: {unclear}"
        if last is None:
            return f"It begins at {first.agent} at the latest; whether earlier is not told, flaky before it: {unclear}"
        return f"It begins after {last.agent} and at {first.agent} at the latest; flaky between them: {unclear}"


def bisect_checkpoints(
    task: Task,
    checkpoints: Sequence[Agent | str | PathLike[str]],
    suite: TestSuite,
    *,
    limit: float = BisectConfig.limit,
    length: int | None = BisectConfig.length,
    most: int = BisectConfig.most,
    seed: int = 0,
    behaviour: BehaviourName = AgentConfig.behaviour,
    epsilon: float = AgentConfig.epsilon,
    trust: bool = False,
    on_progress: ProgressCallback | None = None,
) -> Bisection:
    """Find the first checkpoint that fails, taking for granted that from then on all do.

    Each is decided by a test that may be looked at after every execution: it errs in at most 5 of 100 on either side,
    however early it stops. Where nothing is random, one execution of each case decides. What cannot be told is flaky,
    and its neighbours are tried instead.

    Args:
        task: The task to be solved.
        checkpoints: From the oldest to the newest: agents, or files, which are loaded only when they are tested.
        suite: What is to be passed: one case (``kept_suite``), or several.
        limit: A fail frequency above it is a fail.
        length: Steps to watch after hand-over; None: to the task's time limit, at most 500.
        most: Executions after which a checkpoint is flaky.
        seed: Determines everything random.
        behaviour: Of agents that are loaded from files: take the best action, or draw one.
        epsilon: Of agents that are loaded from files: share of steps in which a random action is played instead.
        trust: Whether loading a file may run code that is in it.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    if len(checkpoints) < 2:
        raise UsageError(f"a bisection needs at least an old and a new checkpoint, not {len(checkpoints)}")
    BisectConfig.require(limit=limit, length=length, most=most)
    checked: dict[int, CheckedAgent] = {}
    low, high = 0, len(checkpoints) - 1
    wanted: int | None = low
    while wanted is not None:
        checkpoint = checkpoints[wanted]
        if isinstance(checkpoint, (str, PathLike)):
            agent = load_agent(checkpoint, task, behaviour=behaviour, epsilon=epsilon, trust=trust)
        else:
            agent = checkpoint
        checked[wanted] = _decided(task, agent, wanted, suite, limit, length, most, seed)
        if on_progress is not None:
            on_progress(Progress("bisect", len(checked), len(checkpoints), checked[wanted].agent))
        passed = checked[wanted].passed
        if wanted in (0, len(checkpoints) - 1):
            # An end that is not as it must be answers the question at once.
            if passed is (wanted != 0):
                break
            wanted = high if high not in checked else _next(checked, low, high)
            continue
        low, high = (wanted if passed else low), (wanted if passed is False else high)
        wanted = _next(checked, low, high)
    return Bisection(
        checkpoints=len(checkpoints), limit=limit, checked=tuple(checked[number] for number in sorted(checked))
    )


def _next(checked: dict[int, CheckedAgent], low: int, high: int) -> int | None:
    """The untested one nearest to the middle between the last that passes and the first that fails."""
    left = [number for number in range(low + 1, high) if number not in checked]
    return min(left, key=lambda number: abs(2 * number - low - high), default=None)


def _decided(
    task: Task, agent: Agent, number: int, suite: TestSuite, limit: float, length: int | None, most: int, seed: int
) -> CheckedAgent:
    decision = decide_gate(task, agent, suite, limit, length=length, seed=seed, most=most, survivable=False).decision
    assert decision is not None
    return CheckedAgent(
        number=number,
        agent=agent.name,
        passed=decision.passed,
        fail_frequency=decision.estimate,
        executions=decision.executions,
    )
