"""How much of its default budgets a run spends: all of them, and less where a step of the task is slow.

Budgets are in steps, so that the same seed finds the same on every machine, and steps take microseconds in one task and
a tenth of a second in another. So a run begins by asking what a step takes, in classes that are far apart, and writes
down what it chose: whoever continues it, or repeats it with ``--effort``, has the same budgets.
"""

from __future__ import annotations

import math
from typing import Any

from tightrope.runs.configuration.config import CampaignConfig, sections
from tightrope.settings import Section
from tightrope.simulation import step_seconds
from tightrope.tasks import Task

QUICK = 0.002
"""Seconds of a step up to which everything is spent: what takes longer is a simulation of more than its own state."""
USUAL = 0.0005
"""Seconds of a step with which all default budgets together take some minutes on two cores."""
CLASS = 4
"""Classes of tasks are so many times slower than each other: a machine of twice the speed is mostly in the same."""


def effort_for(task: Task) -> float:
    """The share of default budgets with which a run of the task takes minutes: 1, 1/16, 1/64, …"""
    seconds = step_seconds(task)
    if seconds <= QUICK:
        return 1.0
    return float(CLASS ** -math.ceil(math.log(seconds / USUAL, CLASS)))


def with_effort(config: CampaignConfig, task: Task, earlier: CampaignConfig | None = None) -> CampaignConfig:
    """The configuration with its effort, and the budgets that follow from it in place of those nobody gave.

    ``earlier``: that of the run that is continued, whose effort stays unless another is given.
    """
    effort = config.effort
    if effort is None and earlier is not None:
        # Runs that say nothing of it spent everything.
        effort = 1.0 if earlier.effort is None else earlier.effort
    if effort is None:
        effort = effort_for(task)
    parts: dict[str, Any] = {name: _lessened(getattr(config, name), effort) for name in sections()}
    return config.model_copy(update={"effort": effort, **parts})


def _lessened(section: Section, effort: float) -> Section:
    changed = {}
    for name, each in section.settings().items():
        whole: int | None = each.about.whole if each.default is None else each.default
        if each.about.least is None or whole is None or getattr(section, name) != each.default or effort == 1:
            continue
        changed[name] = min(whole, max(each.about.least, round(whole * effort)))
    return section.changed(**changed)


def effort_text(effort: float) -> str:
    """A share as people say it: 1/64, or 0.3."""
    parts = round(1 / effort)
    return f"1/{parts}" if math.isclose(1 / parts, effort) else f"{effort:g}"
