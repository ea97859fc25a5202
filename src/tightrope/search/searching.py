"""Step 1: ``search`` chooses a method, keeps the budget and says what came of it."""

from __future__ import annotations

from contextlib import closing

from tightrope.budget import Budget
from tightrope.execution import Engine, borrowed_engine
from tightrope.outcome import StopReason
from tightrope.progress import ProgressCallback
from tightrope.reference import Reference
from tightrope.search.dfs import DepthFirst
from tightrope.search.repetitions import repetitions as enough_repetitions
from tightrope.search.reporting import ProgressLine
from tightrope.search.result import SearchResult, SearchStats
from tightrope.search.situations import replay_to_goal, require_open_start, time_limit
from tightrope.simulation import open_simulator
from tightrope.tasks.task import Task

DEFAULT_BUDGET = Budget(seconds=120)
METHODS = ("auto", "dfs", "archive", "demonstration")


def search(
    task: Task,
    method: str = "dfs",
    *,
    repetitions: int | None = None,
    budget: Budget = DEFAULT_BUDGET,
    seed: int = 0,
    max_depth: int | None = None,
    on_progress: ProgressCallback | None = None,
    engine: Engine | None = None,
    backend: str = "inline",
    workers: int | None = None,
) -> SearchResult:
    """Look for a way to the goal, and for the places on it from which the search fell into trouble."""
    stats = SearchStats()
    with borrowed_engine(task, None, engine, backend, workers) as engine, closing(open_simulator(task)) as simulator:
        require_open_start(simulator)
        deterministic = engine.deterministic
        depth_first = DepthFirst(
            simulator,
            meter=budget.start(),
            stats=stats,
            progress=ProgressLine(on_progress, budget.steps),
            repetitions=repetitions or (1 if deterministic else enough_repetitions()),
            deterministic=deterministic,
            seed=seed,
            max_depth=max_depth,
            time_limit=time_limit(simulator),
        )
        stop_reason = depth_first.run()
        reference = None
        if stop_reason is StopReason.GOAL_FOUND:
            actions = depth_first.trace
            reference = Reference(
                trace=replay_to_goal(simulator, actions),
                actions=actions,
                boundary_states=depth_first.boundary_states,
                method="dfs",
                search_actions=task.search_actions,
            )
        return SearchResult(
            reference=reference, stop_reason=stop_reason, stats=stats, method="dfs", deterministic=deterministic
        )
