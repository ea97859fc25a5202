"""What a step, a save and a load cost here and now, so that the cheaper way can be taken."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from itertools import cycle
from math import sqrt
from time import perf_counter, process_time

from tightrope.simulation.simulator import Simulator
from tightrope.trace import Action

MOST_STEPS = 16
SECONDS = 0.1
"""Slow environments are timed for no longer than this, and at least twice."""
SHORTEST_STEP = 1e-9
"""Seconds."""
STEPS_PER_BRANCH = 40
"""How many new steps a path adds before the next one branches off: about what the paper's fuzz workload shows."""
WIDEST_AT_FIRST = 64


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of processor time, the least of several measurements: whatever else runs on the machine only adds."""

    step: float
    save: float | None
    """None where situations can only be restored by replay."""
    load: float | None

    @property
    def snapshot_spacing(self) -> int | None:
        """How many steps apart snapshots are kept, so that saving and stepping again cost the least together.

        A path of b new steps takes b/s snapshots, and whoever branches off steps s/2 times again: the best s is
        √(2·b·save/step).
        """
        if self.save is None:
            return None
        # A coarse clock says that a quick step took no time at all.
        best = sqrt(2 * STEPS_PER_BRANCH * self.save / max(self.step, SHORTEST_STEP))
        return min(WIDEST_AT_FIRST, max(1, round(best)))


def measure(simulator: Simulator) -> Costs:
    """Time a simulator, which is left somewhere; one that raises, up to there: a rollout will tell what is wrong."""
    times: list[tuple[float, float, float]] = []
    begun = perf_counter()
    with contextlib.suppress(Exception):
        simulator.reset()
        for action in cycle(simulator.task.search_actions):
            times.append(_time_step(simulator, action))
            if simulator.outcome.terminal:
                simulator.reset()
            if len(times) == MOST_STEPS or (len(times) > 1 and perf_counter() - begun > SECONDS):
                break
    step, save, load = (min(column) for column in zip(*times, strict=True)) if times else (1e-3, 1e-3, 1e-3)
    saves = simulator.snapshotter is not None
    return Costs(step, save if saves else None, load if saves else None)


def _time_step(simulator: Simulator, action: Action) -> tuple[float, float, float]:
    begun = process_time()
    simulator.advance(action)
    stepped = process_time()
    if simulator.snapshotter is None:
        return stepped - begun, 0.0, 0.0
    snapshot = simulator.save()
    saved = process_time()
    simulator.load(snapshot)
    return stepped - begun, saved - stepped, process_time() - saved
