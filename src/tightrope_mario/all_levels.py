"""Step 1 on all 32 levels, and the references it found."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from importlib.resources import files
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tightrope import ActionTrace, Budget, Progress, Task, make_task, probe_boundary, read_traces, search, write_traces
from tightrope.extending import ProgressCallback
from tightrope_mario.game.levels import LEVEL_NAMES, find_level, search_plan

FRAMES_PER_STEP = 4
SEARCH_SET = "2-moves"
WIDEST_SET = "wide"
PROBING_STEPS = 5_000
"""Steps for classifying the successors along a reference; more would find more of its boundary states."""


@dataclass(frozen=True, kw_only=True)
class SolvedLevel:
    """What the search made of one level; ``length`` is None when it found no reference."""

    level: str
    method: str
    actions: str
    """The set of button combinations it was searched with."""
    frames: int
    """Frames emulated by the search itself."""
    seconds: float
    length: int | None
    boundary_states: int | None
    """Of the search and of probing, within `PROBING_STEPS`."""
    proven: int | None
    trace: ActionTrace | None

    def to_json(self) -> dict[str, Any]:
        """Plain values, without the trace."""
        return {name: value for name, value in asdict(self).items() if name != "trace"}


def level_task(level: str, rom: str | None = None) -> Task:
    """The task as the level's plan searches it: with the case study's action set where that is enough."""
    plan, options = search_plan(level), {} if rom is None else {"rom": rom}
    if plan.actions == SEARCH_SET:
        return make_task("mario", level=level, **options)
    return make_task("mario", level=level, actions=WIDEST_SET, search_actions=plan.actions, **options)


def level_trace(level: str) -> ActionTrace:
    """The stored reference of a level: the actions that lead from its start to the flag or the axe."""
    source = files("tightrope_mario") / "references" / f"{find_level(level).name}.json"
    [trace] = read_traces(Path(str(source)))
    return trace


def solve_levels(
    levels: Sequence[str] = LEVEL_NAMES,
    *,
    rom: str | None = None,
    workers: int = 2,
    folder: Path | None = None,
    on_progress: ProgressCallback | None = None,
) -> list[SolvedLevel]:
    """Search every level by its plan, each in a process of its own; ``folder`` receives the traces."""
    solved: dict[str, SolvedLevel] = {}
    # The longest first, so that no process is left alone with it in the end.
    queue = sorted(levels, key=lambda level: -search_plan(level).steps)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for finished in as_completed([pool.submit(_solve, level, rom) for level in queue]):
            result = finished.result()
            solved[result.level] = result
            if folder is not None and result.trace is not None:
                write_traces(folder / f"{result.level}.json", [result.trace])
            if on_progress is not None:
                found = "no reference" if result.length is None else f"{result.length} actions"
                on_progress(Progress("levels", len(solved), len(levels), f"{result.level}: {found}"))
    return [solved[level] for level in levels]


def _solve(level: str, rom: str | None) -> SolvedLevel:
    plan, task = search_plan(level), level_task(level, rom)
    # An archive search would probe with all that is left of its budget; here each level gets the same.
    result = search(task, plan.method, budget=Budget(steps=plan.steps), seed=plan.seed, probe=False)
    reference = result.reference
    if reference is not None:
        reference = probe_boundary(task, reference, budget=Budget(steps=PROBING_STEPS))
    return SolvedLevel(
        level=level,
        method=plan.method,
        actions=plan.actions,
        frames=result.stats.steps * FRAMES_PER_STEP,
        seconds=result.stats.seconds,
        length=None if reference is None else len(reference),
        boundary_states=None if reference is None else len(reference.boundary_states),
        proven=None if reference is None else reference.proven,
        trace=None if reference is None else reference.actions,
    )
