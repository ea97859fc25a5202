"""The estimates of a suite under an agent that tables, CSV, JSON and JUnit show: one line here shows it everywhere."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.report.wording import estimate_text
from tightrope.safety import BoundaryResult, SafetyResult
from tightrope.statistics import Estimate


@dataclass(frozen=True, kw_only=True)
class Measure:
    """An estimate that results have."""

    name: str
    """The attribute, and the name in files."""
    title: str
    """What a reader calls it."""
    share: bool = True
    """Whether it is written in percent."""

    def of(self, result: SafetyResult | BoundaryResult) -> Estimate:
        """What a result knows of it."""
        found: Estimate = getattr(result, self.name)
        return found

    def text(self, result: SafetyResult | BoundaryResult) -> str:
        """The same in words."""
        return estimate_text(self.of(result), share=self.share)


MEASURES = (
    Measure(name="fail_frequency", title="fail frequency on these cases"),
    Measure(name="avoidable_fail_frequency", title="avoidable fails on these cases"),
    Measure(name="survivable_fail_frequency", title="on those of these cases that are survivable"),
    Measure(name="fail_frequency_in_general", title="in situations like these"),
    Measure(name="fails_per_1000_steps", title="fails per 1000 steps on these cases", share=False),
    Measure(name="mean_return", title="mean return on these cases", share=False),
)
"""Of a suite under an agent, in the order of the columns."""
STATE_MEASURES = (
    Measure(name="fail_frequency", title="fail frequency"),
    Measure(name="survivable_fail_frequency", title="survivable cases only"),
    Measure(name="mean_return", title="mean return", share=False),
)
"""Of a boundary state under an agent."""
