"""What a search for failures has found: each failure with what it took to bring it about."""

from __future__ import annotations

from dataclasses import dataclass, field

from tightrope.display import Shown, percent, plainly
from tightrope.execution import Episode
from tightrope.failures.moments import LastMoment
from tightrope.outcome import StopReason
from tightrope.settings import FailureMethod, FailureWay
from tightrope.statistics.words import count
from tightrope.trace import Action, ActionTrace, action_text


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
    """What is played meanwhile, whatever the agent says; None: the agent's own actions, seen through noise, or
    ``actions``."""
    actions: tuple[Action, ...] = ()
    """What is played meanwhile where that is drawn at random, step by step."""
    noise: float = 0.0
    """How far each number of the observation is off at most."""
    log_likelihood: float = 0.0
    """Logarithm of its probability (of continuous actions: density) under the agent's own noise, less that of playing
    what the agent answers meanwhile: 0 is normal operation. Noise in what it sees costs nothing: within its bound all
    is as likely."""
    asked: bool = False
    """Whether the agent was asked what it answers meanwhile. Otherwise its answers are taken to be those of the run
    that is disturbed, and of random actions after a reset every one to be another."""
    earlier: Disturbance | None = None
    """One before it in the same episode, which the agent survived."""

    @property
    def parts(self) -> tuple[Disturbance, ...]:
        """It and all before it, the first of them first."""
        return (*(() if self.earlier is None else self.earlier.parts), self)

    @property
    def is_action(self) -> bool:
        """Whether actions were played that the agent did not choose."""
        return bool(self.steps) and not self.noise

    @property
    def total(self) -> tuple[float, int]:
        """Likelihood and length of it and all before it."""
        likelihood, steps = (0.0, 0) if self.earlier is None else self.earlier.total
        return likelihood + self.log_likelihood, steps + self.steps

    def __str__(self) -> str:
        if not self.steps:
            return "none" if self.earlier is None else str(self.earlier)
        if self.earlier is not None and self.earlier.steps:
            return f"{self.earlier}, then {self._told}"
        return self._told

    @property
    def _told(self) -> str:
        what = f"noise of {self.noise:g}" if self.action is None else f"action {action_text(self.action)} held"
        what = "random actions" if self.actions else what
        return f"{what} for {count(self.steps, 'step')} from step {self.depth}"


@dataclass(frozen=True, kw_only=True, repr=False)
class FoundFailure(Shown):
    """One failure, and how far from normal operation it lies."""

    _shown = ("disturbance", "avoidable", "moment")

    episode: Episode = field(repr=False)
    """From hand-over, which is the end of the disturbance, or where the noise begins within which it failed; its
    ``trace`` replays without the agent."""
    disturbance: Disturbance
    moment: LastMoment | None = None
    """When it was lost; None where nobody was found who survives, or the budget did not reach for it."""
    looked: bool = False
    """Whether that was looked for."""

    @property
    def trace(self) -> ActionTrace:
        """The whole episode from reset on."""
        return self.episode.trace

    @property
    def avoidable(self) -> bool | None:
        """Whether somebody survived from a moment after hand-over; False: only before. None: nobody was found."""
        return None if self.moment is None else self.moment.depth >= self.episode.prefix_steps

    @property
    def witness(self) -> ActionTrace | None:
        """A way from reset on that survives after hand-over; None where none is known."""
        return self.moment.escape if self.moment is not None and self.avoidable else None


WAYS: dict[FailureWay, str] = {"plain": "plain episodes", "search": "disturbances"}


@dataclass(frozen=True, kw_only=True)
class WayTaken:
    """What plain episodes, or disturbances, took of a search for failures, and what they brought."""

    way: FailureWay
    episodes: int = 0
    failed: int = 0
    """With those that failed exactly like one before."""
    steps: int = 0
    """Environment steps for finding, replays included where they count."""
    new: float = 0.0
    """Avoidable causes that it has shown once and nothing else has, as far as is seen without judging. With as many
    steps more it is to be expected to show about so many new ones; with none, it only shows the old again."""

    @property
    def rate(self) -> float | None:
        """New causes to be expected in 1000 steps; None: no step was taken."""
        return 1000 * self.new / self.steps if self.steps else None

    def __str__(self) -> str:
        name = WAYS[self.way]
        if self.rate is None:
            return f"{name}: no data"
        episodes = "episode" if self.episodes == 1 else "episodes"
        return (
            f"{name}: {self.failed:,} of {self.episodes:,} {episodes} failed in {self.steps:,} steps, "
            f"{self.rate:.2g} new causes expected per 1,000 more"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class FailureSearch(Shown):
    """What a search for failures has found."""

    _shown = ("task", "agent", "failures", "avoidable", "episodes", "steps", "chosen", "stop_reason", "errors")

    task: str
    agent: str
    failures: tuple[FoundFailure, ...]
    """One for each cause (the moment it was lost and what was done there), the most likely first."""
    episodes: int
    """Episodes that were played, runs without disturbance included."""
    judged: int
    """How many of them show whether it fails: the agent took over, and nothing raised an error."""
    failed: int
    """How many of them failed; several can have one cause."""
    steps: int
    """Environment steps, replays and what it took to find the moments included."""
    judging_steps: int
    """How many of them went into the moments the failures were lost, and who survives there."""
    stop_reason: StopReason
    errors: int = 0
    """Episodes in which the environment or the agent raised an error."""
    first_error: str = ""
    """What the first of them said."""
    method: FailureMethod = "search"
    """What was asked for."""
    ways: tuple[WayTaken, ...] = ()
    """How the steps for finding were divided between plain episodes and disturbances, and what each brought."""

    @property
    def chosen(self) -> FailureWay | None:
        """The way that got most of the steps for finding; None: none was taken."""
        most = max(self.ways, key=lambda taken: taken.steps, default=None)
        return most.way if most is not None and most.steps else None

    @property
    def evidence(self) -> str:
        """What was chosen, how the steps were divided and what each way brought, in a sentence."""
        if self.chosen is None:
            return "no data: no step went into finding"
        asked = "auto gave" if self.method == "auto" else f"method {self.method}:"
        steps = sum(each.steps for each in self.ways)
        got = plainly(percent(max(each.steps for each in self.ways) / steps))
        return f"{asked} {got} of {steps:,} steps to {WAYS[self.chosen]}; " + "; ".join(map(str, self.ways))

    @property
    def finding_steps(self) -> int:
        """How many went into finding the failures."""
        return self.steps - self.judging_steps

    @property
    def avoidable(self) -> tuple[FoundFailure, ...]:
        """Those that somebody would have avoided."""
        return tuple(found for found in self.failures if found.avoidable)

    def __len__(self) -> int:
        return len(self.failures)
