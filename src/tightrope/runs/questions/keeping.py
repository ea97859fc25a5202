"""What an agent failed at is kept as a suite: the shrunk representative of every failure group of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tightrope.agents.agent import Agent
from tightrope.budget import Budget
from tightrope.display import Shown
from tightrope.errors import UsageError
from tightrope.execution import Engine
from tightrope.progress import Progress, ProgressCallback
from tightrope.runs.run import Run
from tightrope.runs.storage.layout import CONTROLS
from tightrope.safety import CaseResult, FailureGroup, SafetyResult, TestSuite, group_failures, kept_suite, shrink
from tightrope.safety.failing.shrinking import SHRINK_BUDGET
from tightrope.trace import ActionTrace


@dataclass(frozen=True, kw_only=True)
class KeptFailure:
    """One failure group, and the situation that stands for it."""

    group: FailureGroup = field(repr=False)
    agent: str
    """Who failed in the representative."""
    found: ActionTrace
    """The situation as it was found."""
    kept: ActionTrace
    """The same failure in a simpler situation, or the same where nothing simpler was found or looked for."""
    new: bool
    """Whether the suite did not have it before."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Keeping(Shown):
    """What was kept of a run's failures."""

    _shown = ("suite", "failures", "left_out")

    suite: TestSuite
    failures: tuple[KeptFailure, ...]
    left_out: int
    """Failure groups that nobody could have avoided; no later agent could pass them."""


def keep_failures(
    run: Run,
    agents: Mapping[str, Agent] | None = None,
    *,
    earlier: TestSuite | None = None,
    budget: Budget = SHRINK_BUDGET,
    on_progress: ProgressCallback | None = None,
) -> Keeping:
    """Make a suite of the representatives of every failure group of a run, to run on every later agent.

    Args:
        run: Where agents failed.
        agents: Those of them that are at hand, by name: with them each situation is made as simple as it gets. None:
            situations are kept as they were found.
        earlier: A suite kept before; its situations stay.
        budget: What making one situation simpler may cost.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    # Nobody explains the fails of a control, so each would be a group of its own.
    results = [result for suite, row in run.safety.items() if suite not in CONTROLS for result in row.values()]
    groups = group_failures(results)
    avoidable = [group for group in groups if group.avoidable is not False and _may_be_survived(group)]
    known = set() if earlier is None else {way.actions.id for way in earlier.ways}
    with run.engine(agents or {}, "inline") as engine:
        failures = tuple(
            _kept(run, engine, group, results, agents, budget, known) for group in _counted(avoidable, on_progress)
        )
    return Keeping(
        suite=kept_suite(run.task, [failure.kept for failure in failures], earlier),
        failures=failures,
        left_out=len(groups) - len(avoidable),
    )


def _may_be_survived(group: FailureGroup) -> bool:
    return group.representative.survivable != "no"


def _counted(groups: list[FailureGroup], on_progress: ProgressCallback | None) -> Iterator[FailureGroup]:
    for number, group in enumerate(groups):
        if on_progress is not None:
            on_progress(Progress("keep", number, len(groups)))
        yield group


def _kept(
    run: Run,
    engine: Engine,
    group: FailureGroup,
    results: list[SafetyResult],
    agents: Mapping[str, Agent] | None,
    budget: Budget,
    known: set[str],
) -> KeptFailure:
    result = _where(group.representative, results)
    found = kept = group.representative.case.prefix
    if agents is not None:
        agent = _unchanged(run, agents, result)
        kept = shrink(run.task, agent, group.representative, length=result.length, budget=budget, engine=engine).prefix
    failure = KeptFailure(group=group, agent=result.agent, found=found, kept=kept, new=kept.id not in known)
    known.add(kept.id)
    return failure


def _where(case: CaseResult, results: list[SafetyResult]) -> SafetyResult:
    """The result that a case is from."""
    return next(result for result in results if any(case is each for each in result.distinct_cases))


def _unchanged(run: Run, agents: Mapping[str, Agent], result: SafetyResult) -> Agent:
    agent = agents.get(result.agent)
    if agent is None:
        raise UsageError(
            f"{result.agent} failed in {run.path} and is not available, so its failures cannot be made simpler; name "
            f"its file, or keep them as they were found (--as-found)"
        )
    if agent.fingerprint != result.fingerprint:
        raise UsageError(
            f"the agent {result.agent} is not the one that failed in {run.path}: its file has changed since. Run it "
            f"again, or keep its failures as they were found (--as-found)"
        )
    return agent
