"""What a report shows, as plain values. ``results.json`` is exactly this.

::

    Results ─┬─ RunResults ─┬─ TaskInfo, AgentInfo, machine, versions
             │              ├─ SearchSummary ── BoundarySummary
             │              ├─ SuiteResult ─┬─ BoundaryResult        one SuiteResult per suite and agent
             │              │               └─ CaseResult
             │              ├─ GroupResult                           fails of one agent with one cause
             │              ├─ FuzzSummary ── GenerationSummary
             │              ├─ PerformanceSummary ── PerformancePoint  one per agent
             │              ├─ StepCost, GateResult, MapPicture
             │              └─ Published                             values of a publication, shown beside
             ├─ correlation
             └─ Finding

Nothing measured is an ``Estimate`` of nothing or None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tightrope.display import Shown
from tightrope.reference import Survivability
from tightrope.safety.standing import Standing, standing
from tightrope.statistics.estimate import Estimate
from tightrope.trace import Action, ActionTrace

NOTHING = Estimate.of_nothing()
Point = tuple[float, float]
Line = tuple[Point | None, ...]
"""Points to be joined; the line is broken at None."""


@dataclass(frozen=True, kw_only=True)
class TaskInfo:
    """The task under test."""

    label: str
    """Name and options in one line."""
    deterministic: bool | None = None
    """Whether the dynamics are free of randomness after reset; None: not checked."""
    snapshots: str = ""
    """How situations are saved and put back."""
    action_names: tuple[str, ...] = ()
    """Names of the actions 0, 1, …; empty: actions are shown as they are."""
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    """Hashes of the files the environment depends on."""


@dataclass(frozen=True, kw_only=True)
class AgentInfo:
    """One agent under test."""

    name: str
    fingerprint: str = ""
    source: str = ""
    """Where it was loaded from."""
    behaviour: str = ""
    """How it acts: greedy, sampled, with which epsilon."""


@dataclass(frozen=True, kw_only=True)
class BoundarySummary:
    """A boundary state, before any agent stood there."""

    depth: int
    proven: bool
    evidence: Mapping[str, int]
    """How the branches below ended, counted by kind."""
    actions: tuple[Action, ...] = ()
    """The actions that led into trouble."""
    position: Point | None = None
    """Pixels on the map."""


@dataclass(frozen=True, kw_only=True)
class SearchSummary:
    """Step 1."""

    method: str
    stop_reason: str
    found: bool
    length: int | None = None
    """Actions of the reference."""
    total_reward: float | None = None
    steps: int | None = None
    """Environment steps the search took."""
    visited: int | None = None
    """State keys it saw."""
    seconds: float | None = None
    boundary_states: tuple[BoundarySummary, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """One test case under one agent."""

    id: str
    depth: int | None
    """Depth of the boundary state it belongs to; None for a control."""
    handover: int
    """Actions played before the agent takes over."""
    label: str = ""
    """What tells it from its neighbours: an offset ("+1"), or the actions put in ("right A, right B")."""
    passes: int = 0
    fails: int = 0
    invalid: int = 0
    errors: int = 0
    fail_frequency: Estimate = NOTHING
    mean_return: Estimate = NOTHING
    survivable: Survivability = Survivability.UNKNOWN
    witness: tuple[Action, ...] | None = None
    """Actions that survive from hand-over on; only where survivable is "yes"."""
    replay: str = ""
    """The command that plays a failing episode again."""
    why: str = ""
    """Why it failed, in a sentence; empty: it did not, or nobody asked."""
    failing_trace: ActionTrace | None = None
    """A failing episode from reset on, from which its video is made."""
    video: str | None = None
    """File name below ``videos/``; set when the report is written."""

    @property
    def standing(self) -> Standing:
        """What it says about the agent."""
        return standing(
            passes=self.passes, fails=self.fails, invalid=self.invalid, errors=self.errors, survivable=self.survivable
        )


@dataclass(frozen=True, kw_only=True)
class GroupResult:
    """Fails of one agent with one cause."""

    agent: str
    representative: str
    """Id of the case that stands for all."""
    cases: tuple[str, ...] = ()
    """Ids of the cases in which it fails so."""
    fails: int = 0
    share: float = 0.0
    """Of all its fails."""
    avoidable: bool | None = None
    """Whether the decision that lost it came after hand-over; None: not decided."""
    sentence: str = ""
    """Why they failed."""
    explain: str = ""
    """The command that tells more."""


@dataclass(frozen=True, kw_only=True)
class BoundaryResult:
    """One boundary state under one agent: the mean over its cases."""

    depth: int
    fail_frequency: Estimate
    survivable_fail_frequency: Estimate = NOTHING
    mean_return: Estimate = NOTHING
    cases: int = 0
    invalid: int = 0
    doomed: int = 0


@dataclass(frozen=True, kw_only=True)
class SuiteResult:
    """Step 2: one suite under one agent."""

    suite: str
    agent: str
    fail_frequency: Estimate
    """On these cases, as in the paper: mean over boundary states of the means over their cases, invalid ones left
    out."""
    fail_frequency_in_general: Estimate = NOTHING
    """In situations like these: the mean over references."""
    survivable_fail_frequency: Estimate = NOTHING
    """On these cases, those that someone could survive."""
    mean_return: Estimate = NOTHING
    """Reward from hand-over on."""
    fails_per_1000_steps: Estimate = NOTHING
    """Fails per 1000 environment steps spent: what a suite finds for its price."""
    cases: tuple[CaseResult, ...] = ()
    boundary: tuple[BoundaryResult, ...] = ()
    repetitions: int | None = None
    length: int | None = None
    """Steps the agent is given."""
    decision: str = ""
    """How a gate went that stopped as soon as it was decided; empty: the whole suite was run."""
    control: bool = False
    """Situations drawn at random, which the boundary states must beat."""
    id: str = ""
    """Content hash of the suite."""

    @property
    def judged(self) -> int:
        """Cases in which the agent passed or failed, one that two boundary states share counted once."""
        return len({case.id for case in self.cases if case.passes + case.fails})

    @property
    def invalid(self) -> int:
        """Cases in which the agent was never asked."""
        return sum(not (case.passes + case.fails + case.errors) and case.invalid > 0 for case in self.cases)

    @property
    def raised(self) -> int:
        """Cases in which the agent or the environment raised."""
        return sum(case.errors > 0 for case in self.cases)

    @property
    def doomed(self) -> int:
        """Cases proven hopeless for anyone, of those that the agent was put into."""
        return sum(case.survivable is Survivability.NO and case.passes + case.fails > 0 for case in self.cases)


@dataclass(frozen=True, kw_only=True)
class GenerationSummary:
    """One generation of step 3."""

    index: int
    best_fitness: float | None = None
    coverage_term: float | None = None
    """Weighted terms of the fittest trace; they add up to its fitness."""
    positive_term: float | None = None
    negative_term: float | None = None
    best_return: float | None = None
    """Return of the fittest trace."""
    mean_return: float | None = None
    covered: int | None = None
    """State keys seen by this and all earlier generations."""
    control_covered: int | None = None
    """State keys seen by as many random traces of the same lengths."""
    goals: int | None = None
    """Individuals that reached the goal."""
    length: int | None = None
    """Actions of the fittest trace."""


@dataclass(frozen=True, kw_only=True)
class FuzzSummary:
    """Step 3."""

    generations: tuple[GenerationSummary, ...]
    population: int | None = None
    stop_reason: str = ""
    covered: int | None = None
    control_covered: int | None = None
    """State keys seen by random traces of the same number and lengths."""
    control_best_return: float | None = None
    best_return: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PerformancePoint:
    """One prefix length: what the agent and the fuzz traces make of it."""

    prefix_length: int
    """0 is the plain comparison from reset."""
    agent: Estimate
    traces: Estimate
    difference: Estimate = NOTHING
    agent_iqm: Estimate = NOTHING
    """Interquartile mean: the mean of the middle half."""
    traces_iqm: Estimate = NOTHING
    agent_goal_share: Estimate = NOTHING
    traces_goal_share: Estimate = NOTHING


@dataclass(frozen=True, kw_only=True)
class PerformanceSummary:
    """Step 4 for one agent, points in order of prefix length."""

    agent: str
    points: tuple[PerformancePoint, ...]


@dataclass(frozen=True, kw_only=True)
class StepCost:
    """What one part of the run spent."""

    step: str
    steps_asked: int | None = None
    steps_executed: int | None = None
    steps_saved: int | None = None
    agent_queries: int | None = None
    seconds: float | None = None
    episodes: int | None = None


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """One condition the user set; ``passed`` None: nothing was measured, so it could not be judged."""

    name: str
    passed: bool | None
    detail: str = ""
    agent: str | None = None


@dataclass(frozen=True, kw_only=True)
class MapPicture:
    """The map: a picture, and lines on it in its pixels (y down)."""

    width: float
    height: float
    reference: Line
    """Positions of s0 … sn; None: not on the map."""
    image: str | None = None
    """PNG as a data URI; None: a plain background."""
    fuzz: tuple[Line, ...] = ()
    """The fittest traces, first generation first."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """Values of a publication, shown beside the measured ones."""

    source: str
    """Short name for legends: "paper"."""
    fail_frequency: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Suite → agent → value."""
    boundary: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    """Suite → agent → value of each boundary state in order."""
    mean_return: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Suite → agent → mean return."""
    robust: Mapping[str, tuple[Point, ...]] = field(default_factory=dict)
    """Series name ("basic", "fuzz traces") → (prefix length, mean return)."""
    correlation: float | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class PlainSummary:
    """How one agent does in plain episodes, from the task's own starts."""

    agent: str
    unsafe_rate: Estimate
    goal_rate: Estimate
    timeout_rate: Estimate
    mean_return: Estimate
    episodes: int
    errors: int = 0


@dataclass(frozen=True, kw_only=True)
class RunResults:
    """One run: one task, one or more agents."""

    name: str
    task: TaskInfo
    agents: tuple[AgentInfo, ...]
    plain: tuple[PlainSummary, ...] = ()
    search: SearchSummary | None = None
    suites: tuple[SuiteResult, ...] = ()
    groups: tuple[GroupResult, ...] = ()
    """The fails of each agent by their cause, over all suites; the most important first."""
    fuzzing: FuzzSummary | None = None
    performance: tuple[PerformanceSummary, ...] = ()
    costs: tuple[StepCost, ...] = ()
    gates: tuple[GateResult, ...] = ()
    map: MapPicture | None = None
    correlation: Estimate = NOTHING
    """Pearson coefficient between fail frequency and mean return over the suites and agents of this run."""
    published: Published | None = None
    headline_suite: str | None = None
    """The suite the verdict speaks of; None: the first measured one that is no control."""
    command: str = ""
    """What to type to get this run again."""
    machine: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)
    status: str = "finished"
    """Anything else is shown as a warning: an unfinished run must not look like a finished one."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A free section of text; blank lines part its paragraphs, lines that begin with "- " make a list."""

    title: str
    text: str


@dataclass(frozen=True, kw_only=True, repr=False)
class Results(Shown):
    """Everything a report shows."""

    _shown = ("title", "correlation")

    title: str
    runs: tuple[RunResults, ...]
    correlation: Estimate = NOTHING
    """Pearson coefficient between fail frequency and mean return over all runs, agents and suites."""
    findings: tuple[Finding, ...] = ()
    tightrope_version: str = ""
