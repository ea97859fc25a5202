"""All boundary states of a reference: what becomes of every action that it does not take.

The successors to classify are cut into blocks of neighbouring depths and the blocks into rounds. The blocks of a round
run in parallel; what they prove is shared before the next round. The cut depends on the reference alone, so that the
result does not depend on how many workers there are. Effort grows from pass to pass: most successors are settled by a
few steps, and only those that are not get more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tightrope.budget import Budget, Meter
from tightrope.errors import NotReproducible, UsageError
from tightrope.execution import Engine, begun_again_if_stochastic, borrowed_engine
from tightrope.exploration.knowledge import Knowledge
from tightrope.outcome import StopReason
from tightrope.progress import Progress, ProgressCallback
from tightrope.reference import BoundaryState, Probing, Reference, Survivability
from tightrope.references.boundaries import boundary_at
from tightrope.references.probe_blocks import ActionFinding, Block, Question, probe_block, survey
from tightrope.references.sampling import repetitions
from tightrope.settings import LIBRARY_BACKEND, PROBING_SECONDS, PROBING_STEPS, BackendName
from tightrope.tasks.task import Task
from tightrope.trace import Action

PROBING_BUDGET = Budget(steps=PROBING_STEPS, seconds=PROBING_SECONDS)
FIRST_EFFORT, EFFORT_GROWTH = 64, 8
"""Steps for a successor in the first pass, and how much more in each next one."""
DEFAULT_EFFORT = 4096
"""Steps after which a successor stays unknown: in the case study, ten times the way from the start to the flag."""
DEPTHS_PER_BLOCK, BLOCKS_PER_ROUND = 8, 8
NO_LIMIT = 2**62


@begun_again_if_stochastic
def probe_boundary(
    task: Task,
    reference: Reference,
    *,
    budget: Budget = PROBING_BUDGET,
    effort: int | None = DEFAULT_EFFORT,
    seed: int = 0,
    on_progress: ProgressCallback | None = None,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
) -> Reference:
    """The reference with all its boundary states, and at each of them what is known about every other action.

    Each successor is **doomed** with proof, **survivable** with a witness, or **unknown**. Boundary states are those
    with a doomed successor; those the search had found and probing could not settle stay, unproven.

    Args:
        task: The task to be solved.
        reference: The way through it.
        budget: In steps it gives the same result everywhere; in seconds it may not. Default: 100,000 steps, and ten
            minutes.
        effort: Steps after which a successor stays unknown; None: as many as the budget has.
        seed: Determines everything random.
        on_progress: Called with a ``Progress`` as the work goes on.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
    """
    if reference is None:
        raise UsageError(
            "there is no reference to probe: the search found none, so give it a larger budget, method='archive' or a "
            "demonstration"
        )
    if reference.actions.task != task.label:
        raise UsageError(
            f"this reference belongs to task {reference.actions.task!r}, not {task.label!r}; probe it on its own task"
        )
    with borrowed_engine(task, None, engine, backend, workers) as engine:
        probe = _Probe(task, reference, budget.start(), engine, seed, on_progress)
        stop_reason = probe.run(effort)
        return probe.result(stop_reason)


class _Probe:
    """The state of one probing: what is known, what is still to be asked."""

    def __init__(
        self,
        task: Task,
        reference: Reference,
        meter: Meter,
        engine: Engine,
        seed: int,
        on_progress: ProgressCallback | None,
    ) -> None:
        self.task, self.reference, self.meter, self.engine = task, reference, meter, engine
        self.seed, self.on_progress = seed, on_progress
        self.knowledge = Knowledge()
        self.findings: dict[tuple[int, Action], ActionFinding] = {}
        self.refutation = ""
        self.replays = False

    def run(self, most_effort: int | None) -> StopReason:
        """Ask about every successor, with growing effort, until all is settled or the budget is spent."""
        try:
            self._begin()
            effort = FIRST_EFFORT
            while questions := self._open_questions():
                effort = effort if most_effort is None else min(effort, most_effort)
                trusted = not self.refutation
                for blocks in self._rounds(questions, effort):
                    if not blocks:
                        return StopReason.BUDGET_SPENT
                    self._answer(blocks)
                if trusted and self.refutation:
                    effort = FIRST_EFFORT
                    continue
                if effort == most_effort:
                    break
                effort *= EFFORT_GROWTH
        except KeyboardInterrupt:
            return StopReason.CANCELLED
        return StopReason.COMPLETED

    def result(self, stop_reason: StopReason) -> Reference:
        """The reference with what was found."""
        findings = self.findings.values()
        harmful = sum(finding.harmful for finding in findings)
        survivable = sum(f.survivable is Survivability.YES and not f.harmful for f in findings)
        probing = Probing(
            successors=len(findings),
            doomed=harmful,
            survivable=survivable,
            unknown=len(findings) - harmful - survivable,
            steps=self.meter.steps,
            seconds=self.meter.seconds,
            stop_reason=stop_reason,
        )
        told = (*self.reference.findings, self.refutation) if self.refutation else self.reference.findings
        return replace(self.reference, boundary_states=self._boundary_states(), probing=probing, findings=told)

    def _begin(self) -> None:
        [surveyed] = self.engine.map(survey, [(self.reference.actions, self.engine.deterministic)])
        self.meter.spend(surveyed.steps)
        found = self.reference.trace.outcome
        if (surveyed.steps, surveyed.outcome) != (len(self.reference), found):
            raise NotReproducible(
                f"task {self.task.label}: a way of {len(self.reference)} actions was found to end {str(found)!r}, but "
                f"played from reset it stands at {str(surveyed.outcome)!r} after {surveyed.steps}. Run "
                f"tightrope.check_task(task) to see what the environment does not restore"
            )
        self.knowledge, self.replays = surveyed.knowledge, surveyed.replays
        for depth, actions in surveyed.questions:
            for action in actions:
                self.findings[depth, action] = ActionFinding(
                    depth=depth, action=action, survivable=Survivability.UNKNOWN, final=False
                )
        if self.engine.deterministic:
            self._trust_the_search()

    def _trust_the_search(self) -> None:
        """What the search has proven need not be proven again."""
        for state in self.reference.boundary_states:
            for action in state.actions if state.proven else ():
                self.findings[state.depth, action] = ActionFinding(
                    depth=state.depth,
                    action=action,
                    survivable=Survivability.NO,
                    harms=state.evidence.get("unsafe", 1),
                    harmful=True,
                    fuse=state.fuse,
                    merged=True,
                )

    def _open_questions(self) -> list[Question]:
        """What is not settled, by depth."""
        asked: dict[int, tuple[Action, ...]] = {}
        for finding in self.findings.values():
            if not finding.final:
                asked[finding.depth] = (*asked.get(finding.depth, ()), finding.action)
        return sorted(asked.items())

    def _rounds(self, questions: Sequence[Question], effort: int) -> Iterator[list[Block]]:
        """Blocks to be run at once; an empty list when the budget does not reach for them."""
        width = DEPTHS_PER_BLOCK * BLOCKS_PER_ROUND
        for start in range(0, len(questions), width):
            asked = questions[start : start + width]
            affordable = self._affordable(asked)
            if self.meter.spent or affordable < 1:
                yield []
                return
            yield [self._block(part, min(effort, affordable)) for part in _parts(asked)]

    def _affordable(self, asked: Sequence[Question]) -> int:
        """Steps for each successor such that this round stays within the budget, ways there included."""
        left = self.meter.remaining().steps
        if left is None:
            return NO_LIMIT
        ways = sum(self._ways(part) for part in _parts(asked))
        return (left - ways) // sum(len(actions) for _, actions in asked)

    def _ways(self, questions: Sequence[Question]) -> int:
        """Steps of a block beside those for its successors: the walk along it, and the ways back to each situation."""
        walk = questions[-1][0]
        tries = sum(len(actions) * self._repetitions for _, actions in questions)
        if not self.replays:
            return walk + tries
        return walk + tries + sum(depth * (len(actions) * self._repetitions + 1) for depth, actions in questions)

    def _block(self, questions: tuple[Question, ...], effort: int) -> Block:
        remaining = self.meter.remaining()
        seconds = remaining.seconds
        successors = sum(len(actions) for _, actions in questions)
        return Block(
            reference=self.reference.actions,
            questions=questions,
            knowledge=self.knowledge,
            effort=effort,
            limit=NO_LIMIT if remaining.steps is None else self._ways(questions) + successors * effort,
            deadline=time.time() + (1e9 if seconds is None else seconds),
            deterministic=self.engine.deterministic,
            repetitions=self._repetitions,
            seed=self.seed,
            exact=not self.refutation,
        )

    @property
    def _repetitions(self) -> int:
        return 1 if self.engine.deterministic else repetitions()

    def _answer(self, blocks: list[Block]) -> None:
        learnt, refutation = self.knowledge.copy(), self.refutation
        for answer in self.engine.map(probe_block, blocks):
            self.meter.spend(answer.steps)
            learnt.update(answer.learnt)
            refutation = refutation or answer.refutation
            self.findings.update({(finding.depth, finding.action): finding for finding in answer.findings})
        self.knowledge = learnt
        if refutation and not self.refutation:
            self._begin_without_names(refutation)
        if self.on_progress is not None:
            settled = sum(finding.final for finding in self.findings.values())
            harmful = sum(finding.harmful for finding in self.findings.values())
            note = f"{harmful} doomed, {self.meter.steps:,} steps"
            self.on_progress(Progress("probing", settled, len(self.findings), note))

    def _begin_without_names(self, refutation: str) -> None:
        """A name stood for two situations: every verdict that may rest on one is open again."""
        self.refutation, self.knowledge = refutation, Knowledge()
        for place, finding in self.findings.items():
            if finding.merged:
                self.findings[place] = ActionFinding(
                    depth=finding.depth, action=finding.action, survivable=Survivability.UNKNOWN, final=False
                )

    def _boundary_states(self) -> tuple[BoundaryState, ...]:
        earlier = {state.depth: state for state in self.reference.boundary_states}
        keys = self.reference.trace.keys
        by_depth: dict[int, list[ActionFinding]] = {}
        for finding in self.findings.values():
            by_depth.setdefault(finding.depth, []).append(finding)
        states = (boundary_at(keys[depth], by_depth[depth], earlier.get(depth)) for depth in sorted(by_depth))
        return tuple(state for state in states if state is not None)


def _parts(questions: Sequence[Question]) -> list[tuple[Question, ...]]:
    """The blocks that neighbouring depths are cut into."""
    starts = range(0, len(questions), DEPTHS_PER_BLOCK)
    return [tuple(questions[start : start + DEPTHS_PER_BLOCK]) for start in starts]
