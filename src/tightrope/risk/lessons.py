"""What campaigns already know about harm, as episodes that a guide can learn from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from tightrope.agents.agent import Agent
from tightrope.errors import UsageError
from tightrope.execution import Episode
from tightrope.explanation import Explanation
from tightrope.failures import FailureSearch, FoundFailure
from tightrope.outcome import Outcome
from tightrope.reference import Reference, Survivability
from tightrope.risk.guides import NoGuide
from tightrope.risk.lesson_sources import (
    FailsOfOneCause,
    LessonSource,
    PlayedEpisodes,
    TestedCase,
    TestedRun,
    TestedSuite,
)
from tightrope.risk.result import FailureEstimate
from tightrope.risk.swarm import EpisodePath, Swarm
from tightrope.simulation import conformance_of
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

MOST_LESSONS = 80
"""Episodes that are replayed, failed and passed ones in turn; more hardly change a guide."""


@dataclass(frozen=True)
class Lesson:
    """A stored episode."""

    trace: ActionTrace
    failed: bool
    agent: str | None = None
    lost_at: int | None = None
    """The step of the decision that lost it, where that was found out."""
    losing: tuple[tuple[int, float], ...] = ()
    """By depth how often even the best known player is lost from there, where that was estimated."""
    doomed: bool = False
    """Whether it ends where harm is sure but has not come yet, and not with the harm itself."""

    def merged(self, other: Lesson) -> Lesson:
        """Both of one episode: all that is known of it."""
        lost_at = self.lost_at if self.lost_at is not None else other.lost_at
        losing = tuple(sorted({*self.losing, *other.losing}))
        return replace(self, agent=self.agent or other.agent, lost_at=lost_at, losing=losing)


def lessons_from(task: Task, agent: str, source: LessonSource) -> list[Lesson]:
    """The episodes in runs, results, searches, explanations and traces, the agent's own first, each once."""
    found: dict[str, Lesson] = {}
    for lesson in _each(source):
        if lesson.trace.task != task.label:
            raise UsageError(
                f"learn_from has episodes of {lesson.trace.task}, and the estimate is about {task.label}; give what "
                f"was found in the same task"
            )
        known = found.get(lesson.trace.id)
        found[lesson.trace.id] = lesson if known is None else known.merged(lesson)
    if not any(lesson.failed for lesson in found.values()):
        raise UsageError(
            "learn_from has no failed episode and no boundary state, so it tells nothing about harm; leave it out, and "
            "a guide is learned from episodes with random actions"
        )
    # A failure of the agent itself says where it comes to harm; one of another agent, where harm is.
    return sorted(found.values(), key=lambda lesson: lesson.agent != agent)


def replayed_lessons(
    task: Task, agent: Agent, lessons: Sequence[Lesson], *, most_steps: int
) -> tuple[list[EpisodePath], int]:
    """The episodes as they were seen, failed and passed ones in turn, within so many steps; and the steps it took."""
    if not lessons:
        return [], 0
    failed = [lesson for lesson in lessons if lesson.failed]
    passed = [lesson for lesson in lessons if not lesson.failed]
    turns = [lesson for pair in zip_longest(failed, passed) for lesson in pair if lesson is not None]
    swarm, paths = Swarm(task, agent, NoGuide(), length=None), []
    # Where chance decides, a step that did harm once need not do so again.
    sure = conformance_of(task).deterministic
    try:
        for lesson in turns[:MOST_LESSONS]:
            if swarm.steps + len(lesson.trace) > most_steps:
                break
            path = swarm.replayed(lesson.trace)
            if lesson.doomed and sure and not path.failed and path.watched:
                # Nothing is decided at the end of an episode, so that is not learned from; here it is what matters.
                path.failed, path.watched = True, [*path.watched, path.watched[-1]]
            path.lost_at = lesson.lost_at if path.failed else None
            path.losing = lesson.losing
            paths.append(path)
        return paths, swarm.steps
    finally:
        swarm.close()


def _each(source: LessonSource) -> Iterator[Lesson]:
    if isinstance(source, ActionTrace):
        yield Lesson(source, failed=True)
    elif isinstance(source, Episode):
        if source.error is None:
            yield Lesson(source.trace, source.outcome is Outcome.UNSAFE, source.rollout.agent)
    elif isinstance(source, Explanation):
        losing = tuple((depth, 1 - each.value) for depth, each in source.estimates if each.value is not None)
        yield Lesson(source.trace, failed=True, lost_at=source.depth, losing=losing)
    elif isinstance(source, Reference):
        yield from _steps_off(source)
    elif isinstance(source, FoundFailure):
        moment = source.moment
        yield Lesson(source.trace, True, source.episode.rollout.agent, None if moment is None else moment.depth)
    elif isinstance(source, Lesson):
        yield source
    else:
        for part in _parts(source):
            yield from _each(part)


def _steps_off(reference: Reference) -> Iterator[Lesson]:
    """From each boundary state the steps that are proven to lose: what lies before them is the nearer to harm, the
    nearer it is to the boundary state."""
    for state in reference.boundary_states:
        proven = [each.action for each in state.successors if each.survivable is Survivability.NO]
        for action in dict.fromkeys([*(state.actions if state.proven else ()), *proven]):
            trace = reference.actions.prefix(state.depth).then([action])
            yield Lesson(trace, failed=True, lost_at=state.depth, doomed=True)


def _of_case(case: TestedCase) -> Iterator[Lesson]:
    """Executions of a case of a suite, with what is known about whoever plays on from it."""
    depth, survival = len(case.case.prefix), case.survival
    best = None if survival.best is None else survival.best.value
    for episode in case.episodes:
        there = survival.checksum is None or survival.checksum == episode.checksum
        for lesson in _each(episode):
            if there and survival.survivable is Survivability.NO:
                lesson = replace(lesson, lost_at=depth - 1)
            yield replace(lesson, losing=((depth, 1 - best),)) if there and best is not None else lesson


def _parts(source: LessonSource) -> Iterable[LessonSource]:
    """What something that holds several episodes holds."""
    match source:
        case FailureSearch() | FailureEstimate():
            return source.failures
        case Mapping():
            return source.values()
        case str():
            raise _refused(source)
        case TestedCase():
            return _of_case(source)
        case TestedRun():
            return [source.safety, source.plain, source.references]
        case TestedSuite():
            return [source.explanations, source.cases]
        case FailsOfOneCause():
            return source.members
        case PlayedEpisodes():
            return source.episodes
        case Iterable():
            return source
    raise _refused(source)


def _refused(source: object) -> UsageError:
    return UsageError(
        f"learn_from takes a run (tr.open_run), results, searches for failures, explanations, episodes or traces, not "
        f"{source!r:.80}"
    )
