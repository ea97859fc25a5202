"""Step 1: ``search`` chooses a method, keeps the budget and says what came of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from tightrope.budget import Budget
from tightrope.errors import UnknownName, UsageError
from tightrope.execution import Engine, begun_again_if_stochastic, borrowed_engine
from tightrope.exploration.playing import replay_to_goal
from tightrope.extensions import extensions
from tightrope.outcome import StopReason
from tightrope.progress import ProgressCallback
from tightrope.reference import Reference
from tightrope.references.archive import ArchiveSearch
from tightrope.references.demonstrations import DemonstrationSource, checked_demonstration
from tightrope.references.dfs import DepthFirst
from tightrope.references.result import SearchResult
from tightrope.references.sampling import repetitions as enough_repetitions
from tightrope.references.session import SearchSession
from tightrope.settings import (
    LIBRARY_BACKEND,
    SEARCH_STEPS,
    SEARCH_STEPS_BY_REPLAY,
    BackendName,
    Count,
    SearchConfig,
    require,
)
from tightrope.simulation import conformance_of, exploring, open_simulator
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.tasks.task import Task

DFS_SHARE = 0.4
"""What ``auto`` gives to depth-first search before the archive gets the rest."""
GROUP = "tightrope.search_methods"
"""Entry points of packages that bring search methods: each names a function from a ``SearchSession`` to its result."""
SearchMethod: TypeAlias = Callable[[SearchSession], SearchResult]
SearchMethodName: TypeAlias = Literal["auto", "dfs", "archive", "demonstration"] | str
"""An editor offers the first; a package may bring another, so that a name that is none is told only when it is used."""


@begun_again_if_stochastic
def search(
    task: Task,
    method: SearchMethodName = SearchConfig.method,
    *,
    repetitions: int | None = SearchConfig.repetitions,
    budget: Budget | None = None,
    seed: int = 0,
    max_depth: int | None = None,
    demonstration: DemonstrationSource | None = None,
    probe: bool = True,
    on_progress: ProgressCallback | None = None,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
) -> SearchResult:
    """Look for a way to the goal, and for the places on it from which it goes wrong.

    Ctrl-C returns what is known.

    Args:
        task: The task to be solved.
        method: ``dfs`` is the paper's Algorithm 1; ``archive`` returns and explores at random; ``demonstration`` takes
            a given trace; ``auto`` tries the first, then the second; a package can bring more.
        repetitions: How often ``dfs`` samples an action; default: once on a deterministic task and rep(0.9, 0.1) = 22
            times on a stochastic one.
        budget: What the whole of it may cost, probing included; default: ten minutes and 500,000 steps, or 100,000
            where situations can only be restored by replay.
        seed: Determines everything random.
        max_depth: Longest trace to look at; None: no limit.
        demonstration: A trace that reaches the goal, its actions, a file of traces, or ``minari:`` and the name of a
            data set.
        probe: Whether to look for boundary states with what is left of the budget, where another method than ``dfs``
            found the way.
        on_progress: Called with a ``Progress`` as the work goes on.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
    """
    find = find_method(method)
    _check_arguments(method, repetitions, max_depth, demonstration)
    with borrowed_engine(task, None, engine, backend, workers) as engine, exploring(task) as simulator:
        return find(
            SearchSession(
                method=method,
                simulator=simulator,
                engine=engine,
                meter=(default_budget(task) if budget is None else budget).start(),
                seed=seed,
                repetitions=repetitions or (1 if engine.deterministic else enough_repetitions()),
                max_depth=max_depth,
                probe=probe,
                demonstration=demonstration,
                on_progress=on_progress,
            )
        )


def default_budget(task: Task, *, steps: int | None = None, seconds: float | None = SearchConfig.seconds) -> Budget:
    """What a search may cost; ``steps``: None where nobody says. The seconds are for environments with slow steps."""
    if steps is None:
        steps = SEARCH_STEPS_BY_REPLAY if conformance_of(task).method == REPLAY else SEARCH_STEPS
    return Budget(steps=steps, seconds=seconds)


def with_keys(task: Task, reference: Reference) -> Reference:
    """A reference with the state keys themselves, of which a file has the hashes alone: it is played again."""
    with closing(open_simulator(task)) as simulator:
        return replace(reference, trace=replay_to_goal(simulator, reference.actions))


def _check_arguments(
    method: str, repetitions: int | None, max_depth: int | None, demonstration: DemonstrationSource | None
) -> None:
    require("repetitions", repetitions, Count | None, "; tightrope.repetitions(c, p) computes it")
    require("max_depth", max_depth, Count | None, "; leave it out for no limit")
    if (method == "demonstration") != (demonstration is not None):
        raise UsageError(
            "method='demonstration' and demonstration=… belong together: give an action trace that reaches the goal "
            "(tightrope.demonstrate(task, agent) makes one), or choose another method and leave the trace out"
        )


def find_method(name: str) -> SearchMethod:
    """The method of this name: tightrope's own, or a package's, which is imported now."""
    if name in METHODS:
        return METHODS[name]
    brought = extensions(GROUP)
    if name not in brought:
        raise UnknownName("search method", name, {*METHODS, *brought})
    return brought[name].load(_broken_rule)  # type: ignore[no-any-return]


def _broken_rule(method: Any) -> str:
    return "" if callable(method) else f"a function of a tightrope.SearchSession is needed, not {method!r:.80}"


def by_dfs(session: SearchSession, budget: Budget | None = None) -> SearchResult:
    """The paper's Algorithm 1, with all that is left or a part of it."""
    meter = session.meter.remaining().start() if budget is None else budget.start()
    depth_first = DepthFirst(
        session.simulator,
        meter=meter,
        stats=session.stats,
        progress=session.progress,
        repetitions=session.repetitions,
        deterministic=session.engine.deterministic,
        seed=session.seed,
        max_depth=session.max_depth,
        time_limit=session.simulator.time_limit,
    )
    stop_reason = session.run(depth_first.run)
    session.meter.spend(meter.steps)
    if stop_reason is not StopReason.GOAL_FOUND:
        return session.not_found(stop_reason)
    return session.found(depth_first.trace, depth_first.boundary_states, findings=depth_first.findings)


def by_archive(session: SearchSession) -> SearchResult:
    """Return and explore."""
    archive = ArchiveSearch(
        session.simulator,
        meter=session.meter,
        stats=session.stats,
        progress=session.progress,
        deterministic=session.engine.deterministic,
        seed=session.seed,
        max_depth=session.max_depth,
        memory_limit=session.engine.memory_limit,
    )
    stop_reason = session.run(archive.run)
    return session.found(archive.trace) if stop_reason is StopReason.GOAL_FOUND else session.not_found(stop_reason)


def by_demonstration(session: SearchSession) -> SearchResult:
    """A given trace, checked and probed."""
    assert session.demonstration is not None
    actions = checked_demonstration(session.simulator, session.demonstration)
    session.meter.spend(len(actions))
    return session.found(actions)


def automatically(session: SearchSession) -> SearchResult:
    """Depth first with a share of the budget, then the archive with the rest."""
    first = session.named("dfs")
    result = by_dfs(first, session.meter.remaining().share(DFS_SHARE))
    if result.stop_reason is StopReason.BUDGET_SPENT:
        return by_archive(first.named("archive"))
    return result


METHODS: dict[str, SearchMethod] = {
    "auto": automatically,
    "dfs": by_dfs,
    "archive": by_archive,
    "demonstration": by_demonstration,
}
