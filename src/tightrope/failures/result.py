"""What a search for failures has found: each failure with what it took to bring it about."""

from __future__ import annotations

from dataclasses import dataclass, field

from tightrope.display import Shown
from tightrope.execution import Episode
from tightrope.explanation import Explanation
from tightrope.outcome import StopReason
from tightrope.trace import Action, ActionTrace


@dataclass(frozen=True, kw_only=True)
class Disturbance:
    """What was done to a run of the agent; without any steps it is the run itself."""

    reset: int
    """The reset seed of the run."""
    depth: int
    """Steps of the run before it begins."""
    steps: int = 0
    """How long it lasts."""
    action: Action | None = None
    """What is played meanwhile, whatever the agent says; None: the agent's own actions, seen through noise."""
    noise: float = 0.0
    """How far each number of the observation is off at most."""
    log_likelihood: float = 0.0
    """Logarithm of its probability under the agent's own noise, less that of the undisturbed run: 0 is normal operation.
    For continuous actions of its density."""

    def __str__(self) -> str:
        if not self.steps:
            return "none"
        what = f"noise of {self.noise:g}" if self.action is None else f"action {self.action} held"
        return f"{what} for {self.steps} steps from step {self.depth}"


@dataclass(frozen=True, kw_only=True)
class FoundFailure(Shown):
    """One failure, and how far from normal operation it lies."""

    _shown = ("disturbance", "avoidable", "explanation")

    episode: Episode = field(repr=False)
    """From hand-over, which is the end of the disturbance; its ``trace`` replays without the agent."""
    disturbance: Disturbance
    explanation: Explanation | None = field(default=None, repr=False)
    """Why it failed; None where the budget did not reach for it."""

    @property
    def trace(self) -> ActionTrace:
        """The whole episode from reset on."""
        return self.episode.trace

    @property
    def avoidable(self) -> bool | None:
        """Whether somebody could have survived after the disturbance; None: not decided."""
        return None if self.explanation is None else self.explanation.agents_fault

    @property
    def witness(self) -> ActionTrace | None:
        """A way from reset on that survives after the disturbance; None where none is known."""
        if not self.avoidable or self.explanation is None:
            return None
        return next(iter(self.explanation.witnesses.values()), None)


@dataclass(frozen=True, kw_only=True)
class FailureSearch(Shown):
    """What a search for failures has found."""

    _shown = ("task", "agent", "failures", "avoidable", "episodes", "steps", "stop_reason")

    task: str
    agent: str
    failures: tuple[FoundFailure, ...]
    """One for each cause, the most likely first: the moment it was lost and what was done there."""
    episodes: int
    """Episodes that were played, runs without disturbance included."""
    failed: int
    """How many of them failed; several can have one cause."""
    steps: int
    """Environment steps, explanations included as what they may have cost at most."""
    stop_reason: StopReason

    @property
    def avoidable(self) -> tuple[FoundFailure, ...]:
        """Those that somebody would have avoided."""
        return tuple(found for found in self.failures if found.avoidable)

    def __len__(self) -> int:
        return len(self.failures)
