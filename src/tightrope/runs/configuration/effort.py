"""How much of its default budgets a run spends: all of them, and less where a step of the task or an answer is slow.

Budgets are in steps, so that the same seed finds the same on every machine, and steps take microseconds in one task and
a tenth of a second in another, where agents are asked with what an answer takes. So a run begins by asking what that
is, in classes that are far apart, and writes down what it chose: whoever continues it, or repeats it with ``--effort``,
has the same budgets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

from tightrope.agents import Agent
from tightrope.runs.configuration.config import CampaignConfig, sections
from tightrope.seeding import generator
from tightrope.settings import Section
from tightrope.simulation import look_seconds, step_seconds
from tightrope.tasks import Task

USUAL = 0.00035
"""Seconds of a step with which all default budgets together take less than five minutes on two cores. The border is
there, and not at a round number, since the built-in tasks are far from it and from those of the other classes."""
CLASS = 4
"""Classes of tasks are so many times slower than each other: a machine of twice the speed is mostly in the same."""
ASKED = 1 / 4
"""Of the steps of a run at most about so many ask an agent; in the others a search, a proof or a trace is played."""


def effort_for(task: Task, agents: Iterable[Agent] = ()) -> float:
    """The share of default budgets with which a run of the task takes minutes: 1, 1/4, 1/16, …

    Of several agents, each of which has budgets of its own, the slowest counts.
    """
    answering = max((look_seconds(task, partial(_Asked, agent)) for agent in agents), default=0.0)
    seconds = step_seconds(task) + ASKED * answering
    return 1.0 if seconds <= USUAL else float(CLASS ** -math.ceil(math.log(seconds / USUAL, CLASS)))


class _Asked:
    """An episode in which an agent is asked about one observation after the other."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.memory, self.rng = agent, None, generator("pace", agent.name)

    def __call__(self, observation: Any, mask: Any) -> None:
        [self.memory] = self.agent.act([observation], [self.memory], [self.rng], [mask]).memories


def with_effort(
    config: CampaignConfig, task: Task, agents: Iterable[Agent] = (), earlier: CampaignConfig | None = None
) -> CampaignConfig:
    """The configuration with its effort, and the budgets that follow from it in place of those nobody gave.

    ``earlier``: that of the run that is continued, whose effort stays unless another is given.
    """
    effort = config.effort
    if effort is None and earlier is not None:
        # Runs that say nothing of it spent everything.
        effort = 1.0 if earlier.effort is None else earlier.effort
    if effort is None:
        effort = effort_for(task, agents)
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


def spent_text(effort: float | None) -> str:
    """That not all of the default budgets were spent; nothing where they were."""
    if effort is None or effort >= 1:
        return ""
    share = effort_text(effort)
    return (
        f"Spent {share} of the default budgets: a step of this task or an agent's answer is slow, or --effort {share} "
        f"was asked for. --effort 1 spends all, and takes about {round(1 / effort)} times as long."
    )


def effort_text(effort: float) -> str:
    """A share as people say it: 1/64, or 0.3."""
    parts = round(1 / effort)
    return f"1/{parts}" if math.isclose(1 / parts, effort) else f"{effort:g}"
