"""What a guide can be learned from. Results of other steps are known by what they hold, since none of them is below."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from tightrope.execution import Episode
from tightrope.explanation.explaining import CaseToRun
from tightrope.exploration.escapes import Survival

if TYPE_CHECKING:
    from tightrope.explanation import Explanation
    from tightrope.failures import FailureSearch, FoundFailure
    from tightrope.reference import Reference
    from tightrope.risk.lessons import Lesson
    from tightrope.risk.result import FailureEstimate
    from tightrope.trace import ActionTrace

    LessonSource: TypeAlias = (
        ActionTrace
        | Episode
        | Explanation
        | Reference
        | FoundFailure
        | FailureSearch
        | FailureEstimate
        | Lesson
        | "TestedRun"
        | "TestedSuite"
        | "TestedCase"
        | "FailsOfOneCause"
        | "PlayedEpisodes"
        | Mapping[str, "LessonSource"]
        | Iterable["LessonSource"]
    )
else:
    # It holds itself and what is below: at run time nobody could tell what the words stand for.
    LessonSource = Any


@runtime_checkable
class TestedRun(Protocol):
    """A run, with what it knows of its agents."""

    @property
    def safety(self) -> Mapping[str, LessonSource]:
        """What came of suites."""
        ...

    @property
    def plain(self) -> Mapping[str, LessonSource]:
        """What came of plain episodes."""
        ...

    @property
    def references(self) -> Iterable[LessonSource]:
        """Ways through the task."""
        ...


@runtime_checkable
class TestedSuite(Protocol):
    """A suite under one agent."""

    @property
    def explanations(self) -> Mapping[str, LessonSource]:
        """Why cases failed."""
        ...

    @property
    def cases(self) -> Iterable[LessonSource]:
        """Its cases."""
        ...


@runtime_checkable
class TestedCase(Protocol):
    """A case of a suite under one agent."""

    @property
    def case(self) -> CaseToRun:
        """The situation."""
        ...

    @property
    def survival(self) -> Survival:
        """What is known of it, whoever plays."""
        ...

    @property
    def episodes(self) -> Sequence[Episode]:
        """Its executions."""
        ...


@runtime_checkable
class FailsOfOneCause(Protocol):
    """A group of failures."""

    @property
    def members(self) -> Iterable[LessonSource]:
        """The cases that failed so."""
        ...


@runtime_checkable
class PlayedEpisodes(Protocol):
    """Plain episodes of an agent."""

    @property
    def episodes(self) -> Iterable[LessonSource]:
        """Each of them."""
        ...
