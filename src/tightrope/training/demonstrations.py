"""What would have been better, step by step: escapes from failing situations, and references from there on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from tightrope.errors import NotReproducible
from tightrope.outcome import Outcome
from tightrope.reference import Reference
from tightrope.safety import SafetyResult
from tightrope.simulation import Simulator, open_simulator, play
from tightrope.simulation.snapshot import detached
from tightrope.tasks import Task, action_decoder
from tightrope.trace import ActionTrace

ESCAPE, REFERENCE = "escape", "reference"


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """A piece of an episode, from a situation on, in which nothing goes wrong."""

    kind: str
    """``"escape"``: what survives from a situation; ``"reference"``: the rest of a way to the goal."""
    trace: ActionTrace
    """All of it, from reset on."""
    start: int
    """The step it begins at: the hand-over."""
    observations: list[Any] = field(repr=False)
    """One more than there are actions."""
    actions: list[Any] = field(repr=False)
    """As the environment takes them."""
    rewards: list[float] = field(repr=False)
    terminations: list[bool] = field(repr=False)
    truncations: list[bool] = field(repr=False)

    def __len__(self) -> int:
        return len(self.actions)


def demonstrations(
    task: Task, results: Iterable[SafetyResult], references: Sequence[Reference] = ()
) -> Iterator[Demonstration]:
    """Escapes from the cases that failed, each once, then the references from the first of their situations on.

    Everything is played again. A way that no longer leads where it did raises NotReproducible.

    Args:
        task: What the results are of.
        results: Whose failing cases to take; those with a witness give an escape.
        references: Ways to the goal; each gives its rest from its first boundary state on.
    """
    with closing(open_simulator(task)) as simulator:
        for trace, start in _escapes(results).items():
            yield _recorded(simulator, task, ESCAPE, trace, start)
        for reference in references:
            start = min(reference.depths, default=0)
            yield _recorded(simulator, task, REFERENCE, reference.actions, start, reference.trace.outcome)


def _escapes(results: Iterable[SafetyResult]) -> dict[ActionTrace, int]:
    """The ways out of failing cases, with the depth of the hand-over."""
    cases = (case for result in results for case in result.cases if case.fails and case.witness)
    return {case.case.prefix.then(case.witness or ()): len(case.case.prefix) for case in cases}


def _recorded(
    simulator: Simulator, task: Task, kind: str, trace: ActionTrace, start: int, ending: Outcome | None = None
) -> Demonstration:
    seen: list[Any] = []
    depth = 0
    for moment in play(simulator, trace):
        depth = moment.depth
        if depth >= start:
            seen.append(detached(simulator.transition))
    if depth < len(trace) or simulator.outcome is Outcome.UNSAFE or ending not in (None, simulator.outcome):
        raise NotReproducible(
            f"{task.label} no longer leads there: this {kind} is {simulator.outcome} after {depth} of {len(trace)} "
            f"actions. The environment has changed since the run was made"
        )
    decode = action_decoder(task.action_space)
    return Demonstration(
        kind=kind,
        trace=trace,
        start=start,
        observations=[transition.observation for transition in seen],
        actions=[decode(action) for action in trace.suffix(start)],
        rewards=[float(transition.reward) for transition in seen[1:]],
        terminations=[transition.terminated for transition in seen[1:]],
        truncations=[transition.truncated for transition in seen[1:]],
    )
