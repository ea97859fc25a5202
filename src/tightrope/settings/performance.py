"""The settings of step 4."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.settings.ranges import Count
from tightrope.settings.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class PerformanceConfig(Section):
    """Step 4: the agent against the fuzz traces, from the start and from their middle."""

    enabled: bool = setting(True, "whether to compare performance", option="", decides=())
    episodes: Count = setting(10, "executions from each situation (n_ep)")
    tests: Count = setting(10, "situations for each prefix length (n_test)", least=3)
    step_width: Count = setting(20, "distance between prefix lengths (w)")
