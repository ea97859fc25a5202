"""The settings of plain episodes."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.settings.ranges import Count, Fraction, Natural
from tightrope.settings.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class PlainConfig(Section):
    """Before the steps: how each agent does in plain episodes, from many reset seeds."""

    episodes: Natural = setting(100, "plain episodes of each agent; 0: none", run=True)
    steps: Count | None = setting(
        50_000, "begin no more episodes of an agent after so many steps", none="no limit", least=1_000
    )
    max_fail: Fraction | None = setting(
        None,
        "gate: fail when a larger share of the plain episodes ends unsafe",
        none="no gate",
        run="--max-fail-plain",
        gate=True,
    )
