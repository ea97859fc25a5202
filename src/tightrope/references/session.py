"""What a search method works with: the simulator, what is left of the budget, and how a result is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tightrope.budget import Meter
from tightrope.execution import Engine
from tightrope.exploration.playing import replay_to_goal
from tightrope.outcome import StopReason
from tightrope.progress import ProgressCallback
from tightrope.reference import BoundaryState, Reference
from tightrope.references.demonstrations import DemonstrationSource
from tightrope.references.probing import probe_boundary
from tightrope.references.reporting import ProgressLine
from tightrope.references.result import SearchResult, SearchStats
from tightrope.simulation import Simulator
from tightrope.trace import ActionTrace


@dataclass(kw_only=True)
class SearchSession:
    """One call of ``search``, as its method sees it.

    A method plays in ``simulator``, tells ``meter`` each step it makes, stops when that is ``spent``, and ends with
    ``found`` or ``not_found``.
    """

    method: str
    simulator: Simulator
    engine: Engine
    meter: Meter
    seed: int
    repetitions: int
    """How often an action is sampled on a stochastic task."""
    max_depth: int | None
    probe: bool
    """Whether boundary states are to be looked for where the method itself finds none."""
    demonstration: DemonstrationSource | None = None
    on_progress: ProgressCallback | None = None
    stats: SearchStats = field(default_factory=SearchStats)

    @property
    def progress(self) -> ProgressLine:
        """Where to say how far the search has come."""
        return ProgressLine(self.on_progress, self.meter)

    def named(self, method: str) -> SearchSession:
        """The same session for another method, which begins its own statistics and pays from the same budget."""
        stats = SearchStats(steps=self.stats.steps, unsafe_hits=self.stats.unsafe_hits)
        return replace(self, method=method, stats=stats)

    def run(self, explore: Callable[[], StopReason]) -> StopReason:
        """Explore from reset; Ctrl-C ends it and keeps what is known."""
        self.simulator.reset()
        try:
            return explore()
        except KeyboardInterrupt:
            return StopReason.CANCELLED

    def found(
        self,
        actions: ActionTrace,
        boundary_states: tuple[BoundaryState, ...] | None = None,
        *,
        findings: tuple[str, ...] = (),
    ) -> SearchResult:
        """The result for a way to the goal.

        Args:
            actions: The way, from reset to the goal.
            boundary_states: Those that the method met; None: it did not look for any, so they are probed for.
            findings: What a reader of the reference should know of it.
        """
        self.stats.replayed_steps += self.simulator.counters.replayed_steps
        reference = Reference(
            trace=replay_to_goal(self.simulator, actions),
            actions=actions,
            boundary_states=boundary_states or (),
            method=self.method,
            search_actions=self.simulator.task.search_actions,
            findings=findings,
        )
        if boundary_states is None and self.probe:
            reference = self._probed(reference)
        return self._result(StopReason.GOAL_FOUND, reference, unprobed=boundary_states is None and not self.probe)

    def not_found(self, stop_reason: StopReason) -> SearchResult:
        """The result when there is no way to the goal, or none was met in time."""
        self.stats.replayed_steps += self.simulator.counters.replayed_steps
        return self._result(stop_reason, None)

    def _probed(self, reference: Reference) -> Reference:
        return probe_boundary(
            self.simulator.task,
            reference,
            budget=self.meter.remaining(),
            seed=self.seed,
            on_progress=self.on_progress,
            engine=self.engine,
        )

    def _result(self, stop_reason: StopReason, reference: Reference | None, *, unprobed: bool = False) -> SearchResult:
        self.stats.seconds = self.meter.seconds
        return SearchResult(
            reference=reference,
            stop_reason=stop_reason,
            stats=self.stats,
            method=self.method,
            deterministic=self.engine.deterministic,
            unprobed=unprobed,
        )
