"""The settings of the search for failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tightrope.settings.ranges import Count, Fraction, Weight
from tightrope.settings.section import Section, setting

FailureWay: TypeAlias = Literal["plain", "search"]
FailureMethod: TypeAlias = Literal["auto", "plain", "search"]


@dataclass(frozen=True, kw_only=True)
class FailuresConfig(Section):
    """Failures near an agent's own runs."""

    steps: Count = setting(50_000, "environment steps to spend on each agent")
    method: FailureMethod = setting(
        "auto", "plain: plain episodes alone; search: disturb them; auto: what shows more new causes for its steps"
    )
    longest: Count = setting(16, "longest disturbance: steps that an action is held or noise lasts")
    noise: Weight = setting(0.0, "how far each number of an observation may be off; 0: not at all")
    reset_seeds: Count = setting(8, "how many resets the agent's runs start from")
    length: Count = setting(100, "it must fail within so many steps after a disturbance", short="-l")
    judging: Fraction = setting(
        0.5, "most of the steps that may go into when each failure was lost and who survives; 0: nobody looks"
    )
