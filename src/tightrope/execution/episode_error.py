"""Why an execution says nothing about the agent."""

from __future__ import annotations

import traceback as tracebacks
from dataclasses import dataclass, field
from enum import StrEnum

from tightrope.display import Shown
from tightrope.errors import AgentFailure
from tightrope.guards.faults import error_text, hang_in


class ErrorKind(StrEnum):
    """Where it went wrong."""

    ENVIRONMENT = "environment"
    """The environment raised, or a function of the task."""
    AGENT = "agent"
    """The agent raised, or answered with what is no action."""
    HANG = "hang"
    """A call did not return in time."""
    PROCESS = "process"
    """The process it ran in died of it, again and again."""
    UNKNOWN = "unknown"
    """Stored by an earlier version, which did not say."""


@dataclass(frozen=True, kw_only=True, repr=False)
class EpisodeError(Shown):
    """What went wrong in an execution."""

    kind: ErrorKind
    message: str
    """What was raised, in one paragraph."""
    traceback: str = field(default="", repr=False)
    """The way to it; empty where nothing was raised."""
    repeated: bool = True
    """False: it did not happen again when the rollout was run alone."""

    @classmethod
    def of(cls, error: BaseException, *, asking: bool = False, repeated: bool = True) -> EpisodeError:
        """What was raised, as a value.

        Args:
            error: What was raised.
            asking: Whether the agent was being asked.
            repeated: Whether it came again when the rollout was run alone.
        """
        kind = ErrorKind.AGENT if asking or isinstance(error, AgentFailure) else ErrorKind.ENVIRONMENT
        return cls(
            kind=ErrorKind.HANG if hang_in(error) is not None else kind,
            message=f"{type(error).__name__}: {error_text(error)}",
            traceback="".join(tracebacks.format_exception(error)),
            repeated=repeated,
        )

    def __str__(self) -> str:
        told = (self.traceback or self.message).rstrip("\n")
        return told if self.repeated else f"{told}\nIt did not happen again when the rollout was run alone."
