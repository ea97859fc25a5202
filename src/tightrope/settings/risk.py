"""The settings of the estimate of rare failures."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.settings.ranges import Count, Fraction
from tightrope.settings.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class RiskConfig(Section):
    """How likely an episode in use ends unsafe."""

    length: Count | None = setting(None, "watch at most so many steps of an episode", none="until it ends", short="-l")
    steps: Count = setting(200_000, "environment steps to spend on each agent")
    max_risk: Fraction | None = setting(
        None, "gate: fail unless the upper limit of the probability is within this", none="no gate", gate=True
    )
