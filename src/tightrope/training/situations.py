"""Situations to train from, whatever they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from tightrope.display import Shown
from tightrope.errors import UsageError
from tightrope.evaluation import Evaluation
from tightrope.execution import Episode
from tightrope.explanation import Explanation
from tightrope.failures import FailureSearch, FoundFailure
from tightrope.fuzzing import FuzzResult
from tightrope.reference import Survivability
from tightrope.safety import CaseResult, FailureGroup, SafetyResult, TestCase, TestSuite, load_suite
from tightrope.safety.suites.controls import CONTROLS
from tightrope.settings import Natural, require
from tightrope.trace import ActionTrace
from tightrope.tracefiles import read_traces


@dataclass(frozen=True, kw_only=True, repr=False)
class Situation(Shown):
    """A place in the task where an episode can begin."""

    trace: ActionTrace
    weight: float = 1.0
    """How often it is chosen, relative to the others: the share of executions that fail from there, where known."""
    label: str = ""

    def earlier(self, steps: int) -> Situation:
        """The same way, so many steps before its end; its beginning at the earliest."""
        prefix = self.trace.prefix(max(0, len(self.trace) - steps))
        return Situation(trace=prefix, weight=self.weight, label=self.label)


@runtime_checkable
class TestedAgents(Protocol):
    """A run: what suites showed of its agents."""

    @property
    def safety(self) -> Mapping[str, Mapping[str, SafetyResult]]:
        """Suite → agent → result."""
        ...


SituationSource: TypeAlias = (
    "TestedAgents | SafetyResult | FailureGroup | CaseResult | Explanation | FailureSearch | FoundFailure | "
    "Evaluation | TestSuite | TestCase | FuzzResult | Episode | ActionTrace | Situation | str | Path | "
    "Mapping[str, SituationSource] | Iterable[SituationSource]"
)
"""What situations can be taken from."""


def situations_from(
    *sources: SituationSource, steps_before: int = 0, agent: str | None = None, survivable: bool = False
) -> tuple[Situation, ...]:
    """Situations of runs, results, explanations, suites, traces and files, each once.

    Of a run, a ``SafetyResult`` or a failure group: the cases that fail and are not proven doomed, weighted by how
    often they do. Of a run these are the cases of its suites; the controls, which stand beside them to be compared
    with, are left out (``run.safety["uniform"]`` is one of them). Of an ``Explanation`` or a found failure: the
    decision that lost it, if one did. Of a suite or suite file: all cases. Of failing episodes and fuzz traces: the
    whole way (say how far before its end to begin).

    Args:
        *sources: What ``open_run`` gives, ``SafetyResult``, ``FailureGroup``, ``CaseResult``, ``Explanation``,
            ``FailureSearch``, ``FoundFailure``, ``Evaluation``, ``TestSuite``, ``TestCase``, ``FuzzResult``,
            ``Episode``, ``ActionTrace``, ``Situation``, the path of a suite or trace file, or lists and mappings of
            these.
        steps_before: Begin so many steps before each situation, so that there is time to do better.
        agent: Of results, groups and episodes of several agents, take those of this one alone.
        survivable: Of cases, take only those that somebody was shown to survive. Where doom cannot be proven (Box2D,
            continuous actions, chance), many of the others may be lost whatever the agent does.
    """
    require("steps_before", steps_before, Natural)
    found: dict[str, Situation] = {}
    for situation in _each(sources, _Wanted(agent, survivable)):
        begun = situation.earlier(steps_before) if steps_before else situation
        known = found.get(begun.trace.id)
        if known is None or known.weight < begun.weight:
            found[begun.trace.id] = begun
    return tuple(found.values())


@dataclass(frozen=True)
class _Wanted:
    """What to take of results."""

    agent: str | None
    survivable: bool

    def takes(self, episode: Episode) -> bool:
        return self.agent in (None, episode.rollout.agent)

    def takes_case(self, case: CaseResult) -> bool:
        shown = case.survivable is Survivability.YES or not self.survivable
        return shown and all(map(self.takes, case.episodes[:1]))


def _each(sources: Iterable[SituationSource], wanted: _Wanted) -> Iterator[Situation]:
    for source in sources:
        if isinstance(source, Situation):
            yield source
        elif isinstance(source, ActionTrace):
            yield Situation(trace=source)
        elif isinstance(source, TestCase):
            yield Situation(trace=source.prefix, label=source.label)
        elif isinstance(source, CaseResult):
            yield from _of_case(source, wanted)
        elif isinstance(source, Explanation):
            yield from _of_decision(source.trace, source.depth)
        elif isinstance(source, FoundFailure):
            yield from _of_decision(source.trace, None if source.moment is None else source.moment.depth)
        elif isinstance(source, Episode):
            if wanted.takes(source):
                yield Situation(trace=source.trace)
        elif isinstance(source, str | Path):
            yield from _each(_of_file(Path(source)), wanted)
        else:
            yield from _each(_parts(source), wanted)


def _parts(source: SituationSource) -> Iterable[SituationSource]:
    """What something that holds several situations holds."""
    if isinstance(source, SafetyResult):
        return source.failing_cases
    if isinstance(source, FailureGroup):
        return [case for case in source.members if case.survivable is not Survivability.NO]
    if isinstance(source, Evaluation):
        return source.failing_episodes
    if isinstance(source, FailureSearch):
        return source.avoidable
    if isinstance(source, TestSuite):
        return source.cases
    if isinstance(source, FuzzResult):
        return source.fittest
    if isinstance(source, TestedAgents):
        # Controls are there to be compared with, and each has as many cases as a suite.
        return [row for name, row in source.safety.items() if name not in CONTROLS]
    if isinstance(source, Mapping):
        return source.values()
    if isinstance(source, Iterable):
        return source
    raise UsageError(f"situations come from runs, results, suites, traces and files, not from {source!r:.80}")


def _of_case(case: CaseResult, wanted: _Wanted) -> Iterator[Situation]:
    share = case.fail_frequency.value
    if share is not None and wanted.takes_case(case):
        yield Situation(trace=case.case.prefix, weight=share, label=case.case.label)


def _of_decision(trace: ActionTrace, depth: int | None) -> Iterator[Situation]:
    if depth is not None:
        yield Situation(trace=trace.prefix(depth))


def _of_file(path: Path) -> Iterable[SituationSource]:
    if path.is_dir():
        raise UsageError(f"{path} is a folder. For a run folder, give what tightrope.open_run({str(path)!r}) returns")
    return [load_suite(path)] if path.name.endswith(".suite.json") else read_traces(path)
