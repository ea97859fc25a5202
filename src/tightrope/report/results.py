"""What a report shows: the results of a run's steps as the steps made them, and what stands beside them on the page.

::

    Results ─┬─ RunResults ─┬─ Evaluation, SearchResult, SafetyResult, FuzzResult, Robustness   of the steps themselves
             │              ├─ SuiteView ── CaseView, Place       ways to look at them, made when they are asked for
             │              ├─ FailureGroup                       fails of one agent with one cause
             │              ├─ AgentInfo, StepCost, MapPicture    who, what it cost, the picture
             │              └─ Published                          values of a publication, shown beside
             └─ Finding

Nothing here is measured, and nothing that a step knows is kept a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tightrope.display import Shown
from tightrope.evaluation import Evaluation
from tightrope.fuzzing import FuzzResult
from tightrope.performance import Robustness
from tightrope.reference import Reference
from tightrope.references import SearchResult
from tightrope.report.views import Place, SuiteView, places_of
from tightrope.safety import FailureGroup, SafetyResult, correlation, group_failures, groups_by_agent
from tightrope.simulation import Conformance
from tightrope.statistics import Estimate
from tightrope.tasks import Task

if TYPE_CHECKING:
    from tightrope.report.training import History

Point = tuple[float, float]
MapLine = tuple[Point | None, ...]
"""Points to be joined; the line is broken at None."""
FINISHED = "finished"
GOING = "going"
"""A run that is being written while somebody looks."""
PLAIN = "plain episodes"
"""What stands in place of a suite where an agent was put nowhere."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One condition that the user set, and whether it held; where gates are judged stands in ``runs/gates.py``."""

    name: str
    """What is limited."""
    agent: str | None
    """Whose; None: nobody's, since nothing was measured."""
    suite: str
    """The suite, or where else it was measured."""
    passed: bool | None
    """None: too little was measured to judge it."""
    detail: str
    """The numbers, in words."""


@dataclass(frozen=True, kw_only=True, repr=False)
class AgentInfo(Shown):
    """One agent under test."""

    name: str
    fingerprint: str = ""
    source: str = ""
    """Where it was loaded from."""
    behaviour: str = ""
    """How it acts: greedy, sampled, with which epsilon."""
    arithmetic: str = ""
    """In which numbers it reckons, where its file says that they are not those of its training."""


@dataclass(frozen=True, kw_only=True, repr=False)
class StepCost(Shown):
    """What one part of the run spent."""

    step: str
    steps_asked: int | None = None
    steps_executed: int | None = None
    steps_saved: int | None = None
    agent_queries: int | None = None
    seconds: float | None = None
    episodes: int | None = None


@dataclass(frozen=True, kw_only=True)
class MapAxis:
    """A side of a map without a picture."""

    name: str
    ticks: tuple[tuple[float, str], ...]
    """Pixels, and the number there in words."""


@dataclass(frozen=True, kw_only=True, repr=False)
class MapPicture(Shown):
    """The map: a picture, and lines on it in its pixels (y down)."""

    _shown = ("width", "height")

    width: float
    height: float
    ways: tuple[MapLine, ...]
    """For each reference the positions of s0 … sn; None: not on the map."""
    image: str | None = None
    """PNG as a data URI; None: a plain background."""
    fuzz: tuple[MapLine, ...] = ()
    """The fittest traces, first generation first."""
    axes: tuple[MapAxis, MapAxis] | None = None
    """Across and up; None: the picture speaks for itself."""
    letters: tuple[tuple[float, float, str], ...] = ()
    """Pixels, and what is written there."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Published(Shown):
    """Values of a publication, shown beside the measured ones."""

    _shown = ("source", "note")

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


@dataclass(frozen=True, kw_only=True, repr=False)
class RunResults(Shown):
    """One run: one task, one or more agents, and what each step found."""

    _shown = ("name", "task", "agents", "safety", "status")

    name: str
    task: Task
    agents: tuple[AgentInfo, ...]
    plain: Mapping[str, Evaluation] = field(default_factory=dict)
    """Agent → its plain episodes."""
    search: SearchResult | None = None
    references: tuple[Reference, ...] = ()
    """All ways that suites stand on, the main one first; empty: the one that the search found, if any."""
    safety: Mapping[str, Mapping[str, SafetyResult]] = field(default_factory=dict)
    """Suite → agent → result."""
    controls: tuple[str, ...] = ()
    """The suites of situations drawn without guidance, which the others must beat; the fair one first."""
    fuzzing: FuzzResult | None = None
    performance: Mapping[str, Robustness] = field(default_factory=dict)
    """Agent → its comparison with the fuzz traces."""
    gates: tuple[Gate, ...] = ()
    costs: tuple[StepCost, ...] = ()
    spent: str = ""
    """That not all of the default budgets were spent, where that is so."""
    conformance: Conformance | None = None
    """How situations are saved and put back; None: not looked at."""
    map: MapPicture | None = None
    published: Published | None = None
    replay: Callable[[str, str], str] = field(default=lambda case, agent: "", compare=False, repr=False)
    """From a case's id and an agent to the command that plays a failing episode again."""
    explain: Callable[[str, str], str] = field(default=lambda case, agent: "", compare=False, repr=False)
    """From a case's id and an agent to the command that tells why it failed."""
    command: str = ""
    """What to type to get this run again."""
    machine: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)
    status: str = FINISHED
    """Anything else is shown as a warning: an unfinished run must not look like a finished one."""

    @cached_property
    def suites(self) -> tuple[SuiteView, ...]:
        """Every suite under every agent, controls last."""
        names = sorted(self.safety, key=lambda name: name in self.controls)
        return tuple(SuiteView(self, name, result) for name in names for result in self.safety[name].values())

    @cached_property
    def measured(self) -> tuple[SuiteView, ...]:
        """Those of which something is known, without controls."""
        return tuple(suite for suite in self.suites if not suite.control and suite.result.judged)

    @cached_property
    def suite_names(self) -> tuple[str, ...]:
        """The suites in order, without controls."""
        return tuple(name for name in self.safety if name not in self.controls)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The boundary states under the numbers that everybody calls them by."""
        return places_of(self.ways, [suite.result for suite in self.suites if not suite.control])

    @property
    def ways(self) -> tuple[Reference, ...]:
        """All references that are kept with the run, the main one first."""
        main = None if self.search is None else self.search.reference
        return self.references or (() if main is None else (main,))

    @cached_property
    def groups(self) -> Mapping[str, tuple[FailureGroup, ...]]:
        """Agent → its fails by their cause, over all suites but the control; the most important first."""
        return groups_by_agent(self.safety, self.controls)

    @cached_property
    def kinds(self) -> tuple[FailureGroup, ...]:
        """The fails of all agents by their cause, over all suites but the controls."""
        rows = [row for name, row in self.safety.items() if name not in self.controls]
        return group_failures(result for row in rows for result in row.values())

    @cached_property
    def correlation(self) -> Estimate:
        """Pearson coefficient between fail frequency and mean return over the suites and agents of this run."""
        return _correlation([self])

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the actions 0, 1, …; empty: actions are shown as they are."""
        return tuple(self.task.action_names or ())

    def suite(self, name: str | None, agent: str) -> SuiteView | None:
        """One suite under one agent."""
        return next((suite for suite in self.suites if (suite.name, suite.agent) == (name, agent)), None)

    @property
    def going(self) -> bool:
        """Whether somebody is at work on it."""
        return self.status == GOING

    @property
    def unfinished(self) -> bool:
        """Whether something is missing."""
        return self.status != FINISHED


@dataclass(frozen=True, kw_only=True, repr=False)
class Finding(Shown):
    """A free section of text; blank lines part its paragraphs, lines that begin with "- " make a list."""

    title: str
    text: str


@dataclass(frozen=True, kw_only=True, repr=False)
class Results(Shown):
    """Everything a report shows."""

    _shown = ("title", "correlation")

    title: str
    runs: tuple[RunResults, ...]
    findings: tuple[Finding, ...] = ()
    tightrope_version: str = ""
    history: History | None = None
    """Checkpoints through training, where somebody asked; None: the page looks whether the agents' names tell one."""

    @cached_property
    def correlation(self) -> Estimate:
        """Pearson coefficient between fail frequency and mean return over all runs, agents and suites."""
        # Returns of different games are on different scales, so a coefficient over them would say nothing.
        if len({run.task.name for run in self.runs}) > 1:
            return Estimate.of_nothing("the tasks differ")
        return _correlation(self.runs)


def _correlation(runs: Sequence[RunResults]) -> Estimate:
    suites = [suite for run in runs for suite in run.measured]
    if not suites:
        return Estimate.of_nothing("no case of a suite could be judged")
    if len({(suite.run.task.label, suite.agent) for suite in suites}) < 2:
        return Estimate.of_nothing("one agent alone shows no correlation")
    return correlation([suite.result for suite in suites])
