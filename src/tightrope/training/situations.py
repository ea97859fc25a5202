"""Situations to train from, whatever they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tightrope.display import Shown
from tightrope.errors import UsageError
from tightrope.execution import Episode
from tightrope.fuzzing import FuzzResult
from tightrope.safety import CaseResult, SafetyResult, TestCase, TestSuite, load_suite
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


def situations_from(*sources: Any, steps_before: int = 0) -> tuple[Situation, ...]:
    """Situations of suites, results, traces and files, each once.

    Of a ``SafetyResult`` the cases that fail and are not proven doomed, weighted by how often they do; of a suite or
    suite file all; of failing episodes and of fuzz traces the whole way (say how far before its end to begin).

    Args:
        sources: ``SafetyResult``, ``CaseResult``, ``TestSuite``, ``TestCase``, ``FuzzResult``, ``Episode``,
            ``ActionTrace``, ``Situation``, the path of a suite or trace file, or lists and mappings of these, such as
            the ``safety`` of a run.
        steps_before: Begin so many steps before each situation, so that there is time to do better.
    """
    if steps_before < 0:
        raise UsageError(f"steps_before must be 0 or more, not {steps_before}")
    found: dict[str, Situation] = {}
    for situation in _each(sources):
        begun = situation.earlier(steps_before) if steps_before else situation
        known = found.get(begun.trace.id)
        if known is None or known.weight < begun.weight:
            found[begun.trace.id] = begun
    return tuple(found.values())


def _each(sources: Iterable[Any]) -> Iterator[Situation]:
    for source in sources:
        if isinstance(source, Situation):
            yield source
        elif isinstance(source, ActionTrace):
            yield Situation(trace=source)
        elif isinstance(source, TestCase):
            yield Situation(trace=source.prefix, label=source.label)
        elif isinstance(source, CaseResult):
            yield from _of_case(source)
        elif isinstance(source, SafetyResult):
            yield from _each(source.failing_cases)
        elif isinstance(source, TestSuite):
            yield from _each(source.cases)
        elif isinstance(source, FuzzResult):
            yield from _each(source.fittest)
        elif isinstance(source, Episode):
            yield Situation(trace=source.trace)
        elif isinstance(source, str | Path):
            yield from _of_file(Path(source))
        elif isinstance(source, Mapping):
            yield from _each(source.values())
        elif isinstance(source, Iterable):
            yield from _each(source)
        else:
            raise UsageError(f"situations come from results, suites, traces and files, not from {source!r:.80}")


def _of_case(case: CaseResult) -> Iterator[Situation]:
    share = case.fail_frequency.value
    if share is not None:
        yield Situation(trace=case.case.prefix, weight=share, label=case.case.label)


def _of_file(path: Path) -> Iterator[Situation]:
    if path.name.endswith(".suite.json"):
        yield from _each([load_suite(path)])
    else:
        yield from _each(read_traces(path))
