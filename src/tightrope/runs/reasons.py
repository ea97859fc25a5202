"""Why agents failed: the groups of their failures, as commands, tests and the report tell them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tightrope.explanation.words import BLAME
from tightrope.report.results import GroupResult
from tightrope.runs.layout import CONTROL
from tightrope.runs.run import Run
from tightrope.runs.trust import is_code
from tightrope.safety import FailureGroup, SafetyResult, group_failures
from tightrope.tasks import Task

Results = Mapping[str, Mapping[str, SafetyResult]]
"""Suite → agent → result."""
SHOWN = 5
"""Groups told of each agent; the report has all."""


def groups_of(results: Results) -> dict[str, tuple[FailureGroup, ...]]:
    """By agent the groups of its fails in all suites but the control; agents that do not fail are left out."""
    agents = dict.fromkeys(agent for row in results.values() for agent in row)
    found = {
        agent: group_failures(row[agent] for suite, row in results.items() if agent in row and suite != CONTROL)
        for agent in agents
    }
    return {agent: groups for agent, groups in found.items() if groups}


def group_line(group: FailureGroup, task: Task) -> str:
    """A group in one line: how much of the failing it is, whose fault, why, and a case of it."""
    cases = f"{len(group.members)} case{'s' * (len(group.members) > 1)}"
    told = f"{group.share:.0%} of its fails ({cases}, as {group.representative.case.id[:8]}), {BLAME[group.avoidable]}"
    return f"{told}: {group.sentence(task)}"


def group_results(run: Run, results: Results) -> tuple[GroupResult, ...]:
    """The groups as the report shows them, agent by agent."""
    return tuple(
        GroupResult(
            agent=agent,
            representative=group.representative.case.id,
            cases=tuple(case.case.id for case in group.members),
            fails=group.fails,
            share=group.share,
            avoidable=group.avoidable,
            sentence=group.sentence(run.task),
            explain=explain_command(run.path, group.representative.case.id, agent, run.config.task),
        )
        for agent, groups in groups_of(results).items()
        for group in groups
    )


def reasons_to_json(results: Results, task: Task) -> dict[str, list[dict[str, Any]]]:
    """The groups of each agent for machines."""
    return {
        agent: [
            {
                "share": group.share,
                "fails": group.fails,
                "avoidable": group.avoidable,
                "sentence": group.sentence(task),
                "representative": group.representative.case.id,
                "cases": [case.case.id for case in group.members],
            }
            for group in groups
        ]
        for agent, groups in groups_of(results).items()
    }


def explain_command(run: Path, case: str, agent: str, task: str) -> str:
    """What to type to be told more about a case."""
    return shlex.join(
        ["tightrope", "explain", str(run), case, "--agent", agent, *(["--trust"] if is_code(task) else [])]
    )
