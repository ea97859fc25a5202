"""Why the few groups of failures failed: explained within a budget, and looked at closely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tightrope.agents import Agent, own_actions
from tightrope.display import Shown
from tightrope.errors import AgentFailure
from tightrope.execution import Engine
from tightrope.explanation import CloseUp, Explanation, close_up
from tightrope.explanation.storage import (
    close_up_from_json,
    close_up_to_json,
    explanation_from_json,
    explanation_to_json,
)
from tightrope.files import check_header
from tightrope.progress import ProgressCallback
from tightrope.safety.failing.explained_cases import explain_failures
from tightrope.safety.failing.groups import group_failures
from tightrope.safety.judging.results import SafetyResult
from tightrope.settings import SafetyConfig

FORMAT, VERSION = "tightrope/whys", 1
MOST_GROUPS = 5
"""Groups that are looked at: a handful of findings, and not hundreds."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Why(Shown):
    """Why one case failed."""

    explanation: Explanation
    close_up: CloseUp | None = None
    """What the agent saw and wanted; None where the episode could not be looked at."""


def explain_groups(
    engine: Engine,
    agent: Agent,
    results: Sequence[SafetyResult],
    *,
    steps: int = SafetyConfig.explain_steps,
    on_progress: ProgressCallback | None = None,
) -> dict[str, Why]:
    """By case id, why cases of an agent failed, and of its most important groups what it saw and wanted.

    All of it has one budget, in which the groups share.
    """
    found = explain_failures(engine, results, own_actions(agent), steps, on_progress)
    groups = group_failures(replace(result, explanations={**result.explanations, **found}) for result in results)
    looked = [group.representative.case.id for group in groups if group.explanation is not None][:MOST_GROUPS]
    close_ups = {case: _looked_at(engine, agent, found[case]) for case in looked if case in found}
    return {case: Why(explanation=why, close_up=close_ups.get(case)) for case, why in found.items()}


def with_whys(result: SafetyResult, whys: Mapping[str, Why]) -> SafetyResult:
    """The result with these explanations among its own."""
    close_ups = {case: why.close_up for case, why in whys.items() if why.close_up is not None}
    explanations = {**result.explanations, **{case: why.explanation for case, why in whys.items()}}
    return replace(result, explanations=explanations, close_ups={**result.close_ups, **close_ups})


def _looked_at(engine: Engine, agent: Agent, why: Explanation) -> CloseUp | None:
    """What it saw; without what it wanted where the agent cannot say that without an error."""
    try:
        return close_up(engine.task, agent, why, engine=engine)
    except AgentFailure:
        return close_up(engine.task, None, why, engine=engine)


def whys_to_json(whys: Mapping[str, Why]) -> dict[str, Any]:
    """Everything they say."""
    cases = {
        case: {
            "explanation": explanation_to_json(why.explanation),
            "close_up": None if why.close_up is None else close_up_to_json(why.close_up),
        }
        for case, why in whys.items()
    }
    return {"format": FORMAT, "version": VERSION, "cases": cases}


def whys_from_json(data: Any) -> dict[str, Why]:
    """What ``whys_to_json`` described."""
    check_header("why cases failed", data, FORMAT, VERSION)
    return {
        str(case): Why(
            explanation=explanation_from_json(why["explanation"]),
            close_up=None if why["close_up"] is None else close_up_from_json(why["close_up"]),
        )
        for case, why in data["cases"].items()
    }
