"""A corridor of cells 0 … 10 with holes at 3 and 6, and everything about it that can be worked out by hand.

The reference walks 0 1 2, jumps to 4, walks to 5, jumps to 7, walks 8 9 10. At depth 2 (cell 2) and depth 4 (cell 5)
walking falls into a hole. Every step costs 1, the goal earns 10, a hole costs 10 more.
"""

from __future__ import annotations

from collections.abc import Sequence

from tightrope.reference import BoundaryState, Reference
from tightrope.simulation import open_simulator
from tightrope.tasks.task import Task
from tightrope.testing import JUMP, WALK, FunctionAgent, corridor_task
from tightrope.trace import Action, ActionTrace, Step, Trace

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
) -> Reference:
    """A reference by its actions and the depths of its boundary states."""
    simulator = open_simulator(task)
    seeds = dict(reseeds)
    simulator.reset(task.seed)
    start, steps, keys = simulator.key(), [], [simulator.key()]
    for index, action in enumerate(actions):
        if index in seeds:
            simulator.reseed(seeds[index])
        reward = simulator.step(action).reward
        steps.append(Step(action, reward, simulator.key(), simulator.outcome))
        keys.append(simulator.key())
    simulator.close()
    return Reference(
        trace=Trace(start, tuple(steps)),
        actions=ActionTrace(task.label, task.seed, tuple(actions), reseeds),
        boundary_states=tuple(
            BoundaryState(depth=depth, key=keys[depth], actions=tuple(bad), proven=proven, evidence={"unsafe": 1})
            for depth in depths
        ),
        method="demonstration",
    )
