"""The settings of the search for failures."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.settings.ranges import Count, Weight
from tightrope.settings.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class FailuresConfig(Section):
    """Failures near an agent's own runs."""

    steps: Count = setting(50_000, "environment steps to spend on each agent")
    longest: Count = setting(16, "steps that an action is held, or noise lasts, at most")
    noise: Weight = setting(0.0, "how far each number of an observation may be off; 0: not at all")
    reset_seeds: Count = setting(8, "resets that the agent's runs begin from")
    length: Count = setting(100, "steps in which it must fail after a disturbance", short="-l")
