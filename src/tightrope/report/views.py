"""Ways to look at the results of step 2: a suite under an agent, a case of it, and the places they all speak of.

A view keeps the result it looks at and what it belongs to, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tightrope.display import Shown
from tightrope.outcome import Verdict
from tightrope.reference import BoundaryState, Reference, Survivability
from tightrope.report.wording import action_text, count
from tightrope.safety import BoundaryResult, CaseResult, SafetyResult
from tightrope.safety.judging.avoidable import left_to_chance, shown_part, tried_by_chance
from tightrope.safety.judging.case_standing import Standing, standing
from tightrope.trace import ActionTrace

if TYPE_CHECKING:
    from tightrope.report.results import RunResults


@dataclass(frozen=True, kw_only=True, repr=False)
class Place(Shown):
    """A boundary state under the number that pins, charts, films and the terminal call it by."""

    _shown = ("number", "depth", "reference", "proven")

    number: int
    """From 1 on."""
    depth: int
    reference: int = 0
    """The reference it lies on, from 0 on."""
    state: BoundaryState | None = None
    """What step 1 knows about it; None: it lies on a reference that is not kept with the run."""

    @property
    def proven(self) -> bool:
        """Whether the trouble below is proven."""
        return self.state is not None and self.state.proven


@dataclass(frozen=True, repr=False)
class SuiteView(Shown):
    """One suite under one agent, as the report shows it."""

    _shown = ("name", "agent", "result")

    run: RunResults
    name: str
    result: SafetyResult

    @property
    def agent(self) -> str:
        """Who was tested."""
        return self.result.agent

    @property
    def control(self) -> bool:
        """Whether these situations were drawn without guidance: the others must beat them."""
        return self.name in self.run.controls

    @cached_property
    def cases(self) -> tuple[CaseView, ...]:
        """Its cases in order."""
        return tuple(CaseView(self, case) for case in self.result.cases)

    @property
    def distinct(self) -> tuple[CaseView, ...]:
        """Its cases, one that two boundary states share counted once."""
        return tuple({case.id: case for case in self.cases}.values())

    @property
    def states(self) -> tuple[BoundaryResult, ...]:
        """Its boundary states; the cases of a control belong to none."""
        return () if self.control else tuple(state for state in self.result.boundary_states if state.depth is not None)

    @property
    def judged(self) -> int:
        """Cases in which the agent passed or failed."""
        return sum(case.executions > 0 for case in self.distinct)

    @property
    def weighs_by_place(self) -> bool:
        """Whether the rate of its places is not that of its cases: places that share one count each for themselves."""
        return len(self.states) > len(self.distinct)

    @property
    def raised(self) -> int:
        """Cases in which the agent or the environment raised."""
        return sum(case.result.errors > 0 for case in self.distinct)

    @property
    def doomed(self) -> int:
        """Cases proven hopeless for anyone, of those that the agent was put into."""
        return sum(case.doomed for case in self.distinct)

    @cached_property
    def tried_by_chance(self) -> int:
        """Cases where chance decides and others were tried: among so many, one seems avoidable by chance."""
        return sum(tried_by_chance(case.result) for case in self.distinct)

    @property
    def repetitions(self) -> int | None:
        """Executions of each case; None where a gate stopped as soon as it was decided."""
        return None if self.result.stopped_early else self.result.repetitions

    @property
    def decision(self) -> str:
        """How a gate went that stopped early; empty: the whole suite was run."""
        return str(self.result.decision) if self.result.stopped_early else ""


@dataclass(frozen=True, repr=False)
class CaseView(Shown):
    """One case under one agent."""

    _shown = ("id", "place", "result")

    suite: SuiteView
    result: CaseResult

    @property
    def id(self) -> str:
        """Identifier of the situation."""
        return self.result.case.id

    @property
    def place(self) -> int | None:
        """The number of the place it belongs to; None for a case of a control, which has places of its own."""
        return None if self.suite.control else self.result.case.place

    @property
    def depth(self) -> int | None:
        """How deep that place lies on its reference."""
        return self.result.case.depth

    @property
    def handover(self) -> int:
        """Actions played before the agent takes over."""
        return len(self.result.case.prefix)

    @property
    def label(self) -> str:
        """What tells it from its neighbours: an offset ("+1"), or the actions put in ("right A, right B")."""
        case = self.result.case
        if case.added and case.depth is not None:
            # Not every action has a name: MiniGrid names the three that matter of its seven.
            return ", ".join(action_text(action, self.suite.run.action_names) for action in case.added)
        return case.label

    @property
    def passes(self) -> int:
        """Executions in which the agent passed."""
        return self.result.counts[Verdict.PASS]

    @property
    def invalid(self) -> int:
        """Executions that ended before hand-over."""
        return self.result.counts[Verdict.INVALID]

    @property
    def executions(self) -> int:
        """Executions in which the agent passed or failed."""
        return self.passes + self.result.fails

    @property
    def made(self) -> int:
        """How many of those were really made: one where it stands for all."""
        return min(self.executions, 1) if self.result.deterministic else self.executions

    @property
    def told(self) -> str:
        """How its executions went, in words."""
        if not self.executions:
            return str(self.standing)
        if self.made < self.executions:
            return f"always {'fails' if self.result.fails else 'passes'}, as nothing is random"
        return f"failed in {self.result.fails} of {count(self.executions, 'execution')}"

    @property
    def doomed(self) -> bool:
        """Whether the agent was put into a situation that is proven hopeless for anyone."""
        return self.result.survivable is Survivability.NO and self.executions > 0

    @property
    def undecided(self) -> bool:
        """Whether it failed and nobody knows if that was avoidable."""
        return bool(self.result.fails) and self.result.survivable is Survivability.UNKNOWN and not self._by_chance

    @property
    def passed_by(self) -> list[str]:
        """The other agents of the run that pass it, where nothing is random."""
        tested = self.suite.run.safety.get(self.suite.name, {})
        return [
            agent
            for agent, result in tested.items()
            for case in result.distinct_cases
            if agent != self.suite.agent and case.case.id == self.id
            if case.deterministic and case.returns and not case.fails
        ]

    @property
    def counted_in_full(self) -> bool:
        """Whether it failed where chance decides, and too few others were tried to say how much of that is fate."""
        return bool(self.result.fails) and tried_by_chance(self.result) and not left_to_chance(self.result)

    @property
    def _by_chance(self) -> bool:
        return self.result.best_survival.value is not None

    @property
    def blame(self) -> str:
        """Whose fault its fails are: avoidable, doomed, chance (nobody does better) or not known; empty: no fails."""
        if not self.result.fails:
            return ""
        if self.doomed:
            return "doomed"
        if self.undecided:
            return "not known"
        if self.result.avoidable.value is None:
            return "not known"
        if self.result.avoidable.value == 0:
            return "chance"
        # Where chance decides, a fail more than the best player had may be bad luck.
        luck = tried_by_chance(self.result) and not shown_part(self.result, self.suite.tried_by_chance)
        return "not known" if luck else "avoidable"

    @property
    def flaky(self) -> bool:
        """Whether the agent sometimes fails and sometimes does not."""
        return 0 < self.result.fails < self.executions

    @property
    def standing(self) -> Standing:
        """What it says about the agent."""
        return standing(
            passes=self.passes,
            fails=self.result.fails,
            invalid=self.invalid,
            errors=self.result.errors,
            survivable=self.result.survivable,
            # What seems avoidable in one case is luck where the suite as a whole fails no more than it must.
            avoidable=0.0 if self.suite.result.avoidable_fail_frequency.value == 0 else self.result.avoidable.value,
        )

    @property
    def replay(self) -> str:
        """The command that plays a failing episode again; empty where none failed."""
        return self.suite.run.replay(self.id, self.suite.agent) if self.result.fails else ""

    @property
    def why(self) -> str:
        """Why it failed, in a sentence; empty where it did not, or nobody asked."""
        known = self.suite.result.explanations.get(self.id) if self.result.fails else None
        if known is None:
            return ""
        # Where chance decides, its other fails may have other causes, and the case be judged by all of them.
        which = f"The first of its {self.result.fails} fails: " if self._by_chance and self.result.fails > 1 else ""
        return f"{which}{known.sentence(self.suite.run.task)}"

    @property
    def failing_trace(self) -> ActionTrace | None:
        """A failing episode from reset on."""
        failing = self.result.failing_episodes
        return failing[0].trace if failing else None


def places_of(references: Sequence[Reference], results: Iterable[SafetyResult]) -> tuple[Place, ...]:
    """The boundary states as the suites number them; as the first reference does where there is no suite."""
    result = max(results, key=lambda result: len(result.suite.depths), default=None)
    if result is None or not result.suite.depths:
        first = references[0].boundary_states if references else ()
        return tuple(Place(number=number, depth=state.depth, state=state) for number, state in enumerate(first, 1))
    suite = result.suite
    lies_on = {case.boundary: case.reference for case in suite.cases}
    known = {
        (reference.actions.id, state.depth): state for reference in references for state in reference.boundary_states
    }

    def place(number: int, depth: int) -> Place:
        at = lies_on.get(number, 0)
        state = known.get((suite.ways[at].actions.id, depth)) if at < len(suite.ways) else None
        return Place(number=number + 1, depth=depth, reference=at, state=state)

    return tuple(place(number, depth) for number, depth in enumerate(suite.depths))
