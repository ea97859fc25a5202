"""Two or more agents on the same cases: those of different runs, and those that were never run, meet here.

Each contender brings what its run has stored. What one was tested with and another was not, or not in the same way, is
executed now, in the very situations and with the very seeds, so that every pair shares all cases that either knows;
nothing else is repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tightrope.agents.agent import Agent
from tightrope.display import Shown
from tightrope.errors import TightropeError, UsageError
from tightrope.evaluation import Evaluation, PlainComparison, compare_plain, evaluate
from tightrope.performance import Robustness
from tightrope.performance.between import return_differences
from tightrope.progress import Progress, ProgressCallback
from tightrope.runs.questions.contender import Contender
from tightrope.runs.run import Run
from tightrope.safety import SafetyComparison, SafetyResult, compare_safety, run_suite
from tightrope.statistics import Estimate


@dataclass(frozen=True, kw_only=True)
class ReturnDifference(Shown):
    """How much more reward B gets than A, from the middle of the same fuzz traces."""

    prefix_length: int
    difference: Estimate


@dataclass(frozen=True, kw_only=True, repr=False)
class AgentComparison(Shown):
    """Agent B against agent A."""

    _shown = ("agent_a", "agent_b", "plain", "suites")

    agent_a: str
    agent_b: str
    plain: PlainComparison | None
    """In plain episodes; None: there are none."""
    suites: Mapping[str, SafetyComparison]
    """By name of the suite, its run beside it where several have one of that name."""
    returns: tuple[ReturnDifference, ...] = ()
    """Along the robust-performance curve; empty where not both were measured on the same traces."""
    run: Run = field(repr=False)
    """Where B's episodes can be replayed."""
    homes: Mapping[str, Run] = field(default_factory=dict, repr=False)
    """By name of the suite, a run that has its cases: B's own where B met them there."""
    naming: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """By name of the suite, how a command names B in that run; empty where none can."""
    executed: int = 0
    """How often a suite was executed now, because one of the two had not met it, or not in the same way."""
    left_out: tuple[str, ...] = ()
    """Why cases that only one of the two has met are not in it."""

    @property
    def worse(self) -> bool:
        """Whether B is shown to be worse in plain episodes or in a suite."""
        return any(each.worse for each in self.suites.values()) or (self.plain is not None and self.plain.worse)

    @property
    def better(self) -> bool:
        """Whether B is shown to be better somewhere and worse nowhere."""
        shown = any(each.better for each in self.suites.values()) or (self.plain is not None and self.plain.better)
        return shown and not self.worse


def compare_agents(
    contenders: Sequence[Contender],
    *,
    examples: Sequence[Contender] = (),
    on_progress: ProgressCallback | None = None,
) -> tuple[AgentComparison, ...]:
    """Set each of the others against the first, on the union of their cases.

    An agent that cannot be loaded any more is compared on the cases that it has met, and that is said.

    Args:
        contenders: Of one task; the first is the one to compare with.
        examples: More whose cases count, and who are not compared themselves.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    if len(contenders) < 2:
        raise UsageError("a comparison needs at least two agents")
    names = [each.name for each in contenders]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"two contenders are called {twice!r}; give one of them another name")
    tasks = dict.fromkeys(each.run.task_label for each in contenders)
    if len(tasks) > 1:
        raise UsageError(f"agents of different tasks cannot be compared: {', '.join(tasks)}")
    everybody = [*contenders, *examples]
    union = _union(everybody)
    if not union:
        raise UsageError(
            f"{contenders[0].run.path} has no safety results to compare; make them: tightrope safety "
            f"{contenders[0].run.path} --agent YOUR_AGENT"
        )
    plain = next((each.plain for each in everybody if each.plain is not None), None)
    brought = [_brought(each, union, plain) for each in contenders]
    missing = {each.name: [suite for suite in union if suite not in each.safety] for each in brought}
    told = _counted(sum(map(len, missing.values())), on_progress)
    complete = [_completed(each, missing[each.name], union, plain, told) for each in brought]
    first, *others = complete
    labels = _labels(union)
    homes = {label: union[suite][0] for suite, label in labels.items()}
    return tuple(_compared(first, other, brought, labels, homes) for other in others)


Union: TypeAlias = Mapping[str, tuple[Run, SafetyResult]]
"""By id of the suite, a run that has its cases, and a result that all others must have come by in the same way."""


def _union(everybody: Sequence[Contender]) -> Union:
    """All suites that anybody met; a gate that stopped early left cases out, so a whole result is preferred to its."""
    met = [(suite, each.run, result) for each in everybody for suite, result in each.safety.items()]
    first: dict[str, tuple[Run, SafetyResult]] = {}
    for suite, run, result in sorted(met, key=lambda one: one[2].stopped_early):
        first.setdefault(suite, (run, result))
    return first


def _brought(contender: Contender, union: Union, plain: Evaluation | None) -> Contender:
    """The contender with those of its results that can be paired with the others'."""
    safety = {suite: result for suite, result in contender.safety.items() if _pairs(result, union[suite][1])}
    own = contender.plain
    kept = own is not None and plain is not None and (own.seed, own.length) == (plain.seed, plain.length)
    return replace(contender, safety=safety, plain=own if kept else None)


def _pairs(result: SafetyResult, other: SafetyResult) -> bool:
    return not result.stopped_early and (result.length, result.seed, result.fixed_prefix) == (
        other.length,
        other.seed,
        other.fixed_prefix,
    )


def _completed(
    contender: Contender, missing: Sequence[str], union: Union, plain: Evaluation | None, told: Iterator[None]
) -> Contender:
    """The contender with results on every suite and with plain episodes, as far as others have them."""
    if not missing and (contender.plain is not None or plain is None):
        return contender
    try:
        agent = contender.load()
    except (TightropeError, OSError) as error:
        if not contender.safety:
            raise
        return replace(contender, left_out=str(error))
    results = dict(contender.safety)
    with _called(agent, contender.name):
        for suite in missing:
            next(told)
            results[suite] = _tested(agent, *union[suite])
        played = contender.plain
        if played is None and plain is not None:
            with contender.run.folder.locked(), contender.run.engine({agent.name: agent}) as engine:
                played = evaluate(
                    contender.run.task, agent, len(plain.episodes), plain.seed, length=plain.length, engine=engine
                )
    return replace(contender, safety=results, plain=played)


@contextmanager
def _called(agent: Agent, name: str) -> Iterator[None]:
    """The agent under another name; it is the user's own, and has its old one back afterwards."""
    before, agent.name = agent.name, name
    try:
        yield
    finally:
        agent.name = before


def _tested(agent: Agent, home: Run, known: SafetyResult) -> SafetyResult:
    """A suite of a run under an agent that has not met it, exactly as the other was tested."""
    with home.folder.locked(), home.engine({agent.name: agent}) as engine:
        return run_suite(
            home.task,
            agent,
            known.suite,
            known.repetitions,
            known.length,
            known.seed,
            fixed_prefix=known.fixed_prefix,
            survivable=known.survival,
            explain=False,
            engine=engine,
        )


def _compared(
    a: Contender, b: Contender, before: Sequence[Contender], labels: Mapping[str, str], homes: Mapping[str, Run]
) -> AgentComparison:
    shared = {suite: label for suite, label in labels.items() if suite in a.safety and suite in b.safety}
    if not shared:
        raise UsageError(
            f"{a.name} and {b.name} have no suite in common, and cannot be tested with the other's: "
            f"{a.left_out or b.left_out}"
        )
    known = {each.name: each.safety for each in before}
    own = {label for suite, label in shared.items() if suite in known[b.name] and b.stored_as}
    plain = None if a.plain is None or b.plain is None else compare_plain(a.plain, b.plain)
    return AgentComparison(
        agent_a=a.name,
        agent_b=b.name,
        plain=None if plain is None else replace(plain, agent_a=a.name, agent_b=b.name),
        suites={label: compare_safety(a.safety[suite], b.safety[suite]) for suite, label in shared.items()},
        returns=tuple(_returns(a.performance, b.performance)),
        run=b.run,
        homes={label: b.run if label in own else homes[label] for label in shared.values()},
        naming={label: ("--agent", b.stored_as) if label in own else b.elsewhere for label in shared.values()},
        executed=sum(suite not in known[each.name] for each in (a, b) for suite in shared),
        left_out=tuple(each.left_out for each in (a, b) if each.left_out),
    )


def _returns(a: Robustness | None, b: Robustness | None) -> Iterator[ReturnDifference]:
    if a is not None and b is not None:
        for prefix_length, difference in return_differences(a, b):
            yield ReturnDifference(prefix_length=prefix_length, difference=difference)


def _labels(union: Mapping[str, tuple[Run, SafetyResult]]) -> dict[str, str]:
    names = [result.suite.name for _, result in union.values()]
    return {
        suite: name if names.count(name) == 1 else f"{name} of {run.path.name}"
        for (suite, (run, _)), name in zip(union.items(), names, strict=True)
    }


def _counted(number: int, on_progress: ProgressCallback | None) -> Iterator[None]:
    for done in range(number):
        if on_progress is not None:
            on_progress(Progress("compare", done, number))
        yield
    yield
