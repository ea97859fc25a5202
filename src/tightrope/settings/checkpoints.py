"""The settings of what is done with rows of checkpoints, and with kept situations."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.settings.ranges import Count, Fraction
from tightrope.settings.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class BisectConfig(Section):
    """Since which checkpoint a case fails."""

    limit: Fraction = setting(
        0.5, "a checkpoint that fails more often than this counts as failing", option="--max-fail"
    )
    length: Count | None = setting(
        None, "steps the agent must survive (l)", none="as in the run, or to the task's time limit", short="-l"
    )
    # A rate of 0.3 or 0.7 is told from 0.5 in a quarter of them.
    most: Count = setting(200, "a checkpoint still undecided after so many executions counts as flaky")


@dataclass(frozen=True, kw_only=True)
class KeepConfig(Section):
    """The simplest situation of every failure group, as a suite file."""

    steps: Count = setting(50_000, "environment steps to spend on making one situation simpler")
