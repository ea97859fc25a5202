"""Step 1: ``search`` chooses a method, keeps the budget and says what came of it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field

from tightrope.budget import Budget, Meter
from tightrope.errors import UnknownName, UsageError
from tightrope.execution import Engine, borrowed_engine
from tightrope.exploration.playing import replay_to_goal
from tightrope.outcome import StopReason
from tightrope.progress import ProgressCallback
from tightrope.reference import BoundaryState, Reference
from tightrope.references.archive import Archive
from tightrope.references.demonstrations import Demonstration, checked_demonstration
from tightrope.references.dfs import DepthFirst
from tightrope.references.probing import probe_boundary
from tightrope.references.repetitions import repetitions as enough_repetitions
from tightrope.references.reporting import ProgressLine
from tightrope.references.result import SearchResult, SearchStats
from tightrope.simulation import Simulator, open_simulator
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

SEARCH_BUDGET = Budget(seconds=120)
METHODS = ("auto", "dfs", "archive", "demonstration")
DFS_SHARE = 0.4
"""What ``auto`` gives to depth-first search before the archive gets the rest."""


def search(
    task: Task,
    method: str = "auto",
    *,
    repetitions: int | None = None,
    budget: Budget = SEARCH_BUDGET,
    seed: int = 0,
    max_depth: int | None = None,
    demonstration: Demonstration | None = None,
    probe: bool = True,
    on_progress: ProgressCallback | None = None,
    engine: Engine | None = None,
    backend: str = "inline",
    workers: int | None = None,
) -> SearchResult:
    """Look for a way to the goal, and for the places on it from which it goes wrong.

    Ctrl-C returns what is known.

    Args:
        task: What is to be solved.
        method: ``dfs`` is the paper's Algorithm 1; ``archive`` returns and explores at random; ``demonstration`` takes
            a given trace; ``auto`` tries the first, then the second.
        repetitions: How often ``dfs`` samples an action; default: once on a deterministic task and rep(0.9, 0.1) = 22
            times on a stochastic one.
        budget: What the whole of it may cost, probing included.
        seed: All randomness follows from it.
        max_depth: Longest trace to look at; None: no limit.
        demonstration: A trace that reaches the goal, its actions, a file of traces, or ``minari:`` and the name of a
            data set.
        probe: Whether to look for boundary states with what is left of the budget, where another method than ``dfs``
            found the way.
        on_progress: Told how far the work has come.
        engine: Where to run; default: one made for the occasion.
        backend: Of an engine made for the occasion: inline, processes or ray.
        workers: Of an engine made for the occasion; default: one for each core.
    """
    _check_arguments(method, repetitions, max_depth, demonstration)
    with borrowed_engine(task, None, engine, backend, workers) as engine, closing(open_simulator(task)) as simulator:
        step = _Search(
            simulator=simulator,
            engine=engine,
            meter=budget.start(),
            seed=seed,
            repetitions=repetitions or (1 if engine.deterministic else enough_repetitions()),
            max_depth=max_depth,
            probe=probe,
            on_progress=on_progress,
        )
        if method == "demonstration":
            assert demonstration is not None
            return step.by_demonstration(demonstration)
        if method == "auto":
            return step.automatically()
        return step.by_dfs(budget) if method == "dfs" else step.by_archive()


def _check_arguments(
    method: str, repetitions: int | None, max_depth: int | None, demonstration: Demonstration | None
) -> None:
    if method not in METHODS:
        raise UnknownName("search method", method, METHODS)
    if repetitions is not None and repetitions < 1:
        raise UsageError(f"repetitions must be 1 or more, not {repetitions}; tightrope.repetitions(c, p) computes it")
    if max_depth is not None and max_depth < 1:
        raise UsageError(f"max_depth must be 1 or more, not {max_depth}; leave it out for no limit")
    if (method == "demonstration") != (demonstration is not None):
        raise UsageError(
            "method='demonstration' and demonstration=… belong together: give an action trace that reaches the goal "
            "(tightrope.demonstrate(task, agent) makes one), or choose another method and leave the trace out"
        )


@dataclass(kw_only=True)
class _Search:
    """One call of ``search``."""

    simulator: Simulator
    engine: Engine
    meter: Meter
    seed: int
    repetitions: int
    max_depth: int | None
    probe: bool
    on_progress: ProgressCallback | None
    stats: SearchStats = field(default_factory=SearchStats)

    def automatically(self) -> SearchResult:
        """Depth first with a share of the budget, then the archive with the rest."""
        result = self.by_dfs(self.meter.remaining().share(DFS_SHARE))
        if result.stop_reason is StopReason.BUDGET_SPENT:
            self.stats = SearchStats(steps=self.stats.steps, unsafe_hits=self.stats.unsafe_hits)
            return self.by_archive()
        return result

    def by_dfs(self, budget: Budget) -> SearchResult:
        """The paper's Algorithm 1."""
        meter = budget.start()
        depth_first = DepthFirst(
            self.simulator,
            meter=meter,
            stats=self.stats,
            progress=ProgressLine(self.on_progress, self.meter),
            repetitions=self.repetitions,
            deterministic=self.engine.deterministic,
            seed=self.seed,
            max_depth=self.max_depth,
            time_limit=self.simulator.time_limit,
        )
        stop_reason = self._run(depth_first)
        self.meter.spend(meter.steps)
        if stop_reason is not StopReason.GOAL_FOUND:
            return self._result("dfs", stop_reason, None)
        reference = self._reference("dfs", depth_first.trace, depth_first.boundary_states, depth_first.findings)
        return self._result("dfs", stop_reason, reference)

    def by_archive(self) -> SearchResult:
        """Return and explore."""
        archive = Archive(
            self.simulator,
            meter=self.meter,
            stats=self.stats,
            progress=ProgressLine(self.on_progress, self.meter),
            deterministic=self.engine.deterministic,
            seed=self.seed,
            max_depth=self.max_depth,
            memory_limit=self.engine.memory_limit,
        )
        stop_reason = self._run(archive)
        if stop_reason is not StopReason.GOAL_FOUND:
            return self._result("archive", stop_reason, None)
        return self._result("archive", stop_reason, self._probed(self._reference("archive", archive.trace)))

    def by_demonstration(self, demonstration: Demonstration) -> SearchResult:
        """A given trace, checked and probed."""
        actions = checked_demonstration(self.simulator, demonstration)
        self.meter.spend(len(actions))
        reference = self._probed(self._reference("demonstration", actions))
        return self._result("demonstration", StopReason.GOAL_FOUND, reference)

    def _run(self, method: DepthFirst | Archive) -> StopReason:
        self.simulator.reset()
        try:
            return method.run()
        except KeyboardInterrupt:
            return StopReason.CANCELLED

    def _reference(
        self,
        method: str,
        actions: ActionTrace,
        boundary_states: tuple[BoundaryState, ...] = (),
        findings: tuple[str, ...] = (),
    ) -> Reference:
        self.stats.replayed_steps += self.simulator.counters.replayed_steps
        return Reference(
            trace=replay_to_goal(self.simulator, actions),
            actions=actions,
            boundary_states=boundary_states,
            method=method,
            search_actions=self.simulator.task.search_actions,
            findings=findings,
        )

    def _probed(self, reference: Reference) -> Reference:
        if not self.probe:
            return reference
        return probe_boundary(
            self.simulator.task,
            reference,
            budget=self.meter.remaining(),
            seed=self.seed,
            on_progress=self.on_progress,
            engine=self.engine,
        )

    def _result(self, method: str, stop_reason: StopReason, reference: Reference | None) -> SearchResult:
        self.stats.seconds = self.meter.seconds
        return SearchResult(
            reference=reference,
            stop_reason=stop_reason,
            stats=self.stats,
            method=method,
            deterministic=self.engine.deterministic,
        )
