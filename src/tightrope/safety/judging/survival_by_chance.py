"""How often somebody survives the cases of a suite, where chance decides; and how often each must then be executed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from tightrope.execution import Engine
from tightrope.exploration.best_survival import STEPS_PER_CASE, find_best_survival
from tightrope.exploration.escapes import Survival
from tightrope.exploration.survival_bound import BestSurvival
from tightrope.reference import Survivability
from tightrope.safety.judging.claims import SuiteSurvival
from tightrope.safety.suites.executions import execution_seed, executions_to_tell, weights_of
from tightrope.safety.suites.suite import TestSuite
from tightrope.settings import SURVIVAL_STEPS
from tightrope.trace import Action, ActionTrace

RUNS = 100
"""So many runs of the whole length at least are paid for in each case, half of them after the choice."""


@dataclass(frozen=True, kw_only=True)
class ByChance:
    """What is asked: who survives the cases, with the luck of the executions that they will be compared with."""

    engine: Engine
    suite: TestSuite
    length: int
    actions: tuple[Action, ...] | None
    """What the tested agent can do; None: that cannot be listed."""
    seed: int = 0
    """That of the executions."""
    steps: int = SURVIVAL_STEPS
    """What all executions may take together; and as large a part of ``SURVIVAL_STEPS`` is spent on who survives."""
    steps_per_case: int | None = None
    told: Mapping[str, Survival] = field(default_factory=dict)
    """What is known already, by case id."""
    report: Callable[[int, int, str], None] = lambda done, total, what: None

    def find(self) -> SuiteSurvival:
        """What is known of every case that does not end before hand-over."""
        every = {case.id: case.prefix for case in self.suite.cases}
        known = self._usable(every)
        asked = {case: prefix for case, prefix in every.items() if case not in known}
        self.report(0, len(asked), "looking for escapes")
        found = find_best_survival(
            self.engine,
            asked.values(),
            self.length,
            references={case.id: self.suite.way_of(case).actions.actions for case in self.suite.cases},
            actions=self.engine.task.search_actions if self.actions is None else self.actions,
            agents=tuple(self.engine.agents),
            steps_per_case=self._steps_per_case(),
            luck=self._luck,
            least=lambda reached: self._executions({*reached, *known}),
            told=lambda what: self.report(0, len(asked), what),
        )
        self.report(len(asked), len(asked), "looking for escapes")
        by_case = known | {case: self._survival(best) for case, best in found.items()}
        thorough = any(each.thorough for each in by_case.values())
        executions = self._executions(by_case) if thorough else None
        return SuiteSurvival(by_case=by_case, actions=self.actions, executions=executions)

    def _usable(self, every: Collection[str]) -> dict[str, Survival]:
        """What is known already, where that has as many runs as this suite needs, and their luck."""
        enough = self._executions(every)
        return {
            case: each
            for case, each in self.told.items()
            if not each.thorough or (each.seed == self.seed and len(each.runs) >= enough)
        }

    def _steps_per_case(self) -> int:
        if self.steps_per_case is not None:
            return self.steps_per_case
        return int(min(1.0, self.steps / SURVIVAL_STEPS) * max(STEPS_PER_CASE, RUNS * self.length))

    def _luck(self, prefix: ActionTrace, number: int) -> int:
        return execution_seed(self.seed, prefix.id, number)

    def _executions(self, reached: Collection[str]) -> int:
        """How often each of these cases must be executed to tell what the best player would have avoided."""
        cases = [case for case in self.suite.cases if case.id in reached]
        return executions_to_tell(weights_of(cases), self.steps // self.length)

    def _survival(self, best: BestSurvival) -> Survival:
        seen = best.estimate
        survived = round((seen.value or 0.0) * seen.n)
        return Survival(
            survivable=Survivability.YES if survived else Survivability.UNKNOWN,
            evidence=f"{best.policy} survived {survived} of {seen.n} times",
            steps=self.length,
            best=seen,
            who=best.policy,
            checksum=best.checksum,
            thorough=best.thorough,
            seed=self.seed,
            runs=best.runs,
        )
