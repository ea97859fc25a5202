"""A corridor of cells 0 … 10 with holes at 3 and 6, and everything about it that can be worked out by hand.

The reference walks 0 1 2, jumps to 4, walks to 5, jumps to 7, walks 8 9 10. At depth 2 (cell 2) and depth 4 (cell 5)
walking falls into a hole. Every step costs 1, the goal earns 10, a hole costs 10 more.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from tightrope.exploration.playing import replay
from tightrope.reference import BoundaryState, Reference
from tightrope.simulation import open_simulator
from tightrope.tasks.task import Task
from tightrope.testing import JUMP, WALK, FunctionAgent, corridor_task
from tightrope.trace import Action, ActionTrace

REFERENCE = (WALK, WALK, JUMP, WALK, JUMP, WALK, WALK, WALK)
CORRIDOR = corridor_task()
SLIPPERY = corridor_task(slip=0.25, name="slippery-corridor")

walker = FunctionAgent(lambda cell: WALK, "walker")
jumper = FunctionAgent(lambda cell: JUMP, "jumper")
expert = FunctionAgent(lambda cell: JUMP if cell in (2, 5) else WALK, "expert")


def reference_of(
    task: Task,
    actions: Sequence[Action] = REFERENCE,
    depths: Sequence[int] = (2, 4),
    *,
    reseeds: tuple[tuple[int, int], ...] = (),
    bad: Sequence[Action] = (WALK,),
    proven: bool = True,
    fuse: int | None = 1,
) -> Reference:
    """A reference by its actions and the depths of its boundary states."""
    way = ActionTrace(task.label, task.seed, tuple(actions), reseeds)
    with closing(open_simulator(task)) as simulator:
        trace = replay(simulator, way)
    return Reference(
        trace=trace,
        actions=way,
        boundary_states=tuple(
            BoundaryState(
                depth=depth, key=trace.keys[depth], actions=tuple(bad), proven=proven, evidence={"unsafe": 1}, fuse=fuse
            )
            for depth in depths
        ),
        method="demonstration",
    )
