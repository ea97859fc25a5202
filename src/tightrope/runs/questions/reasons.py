"""Why agents failed: the groups of their failures, as commands and tests tell them."""

from __future__ import annotations

import shlex
from typing import Any

from tightrope.explanation.words import BLAME
from tightrope.runs.run import Run
from tightrope.runs.storage.layout import CONTROLS
from tightrope.runs.trust import is_code
from tightrope.safety import FailureGroup, groups_by_agent
from tightrope.safety.judging.results import ResultsBySuite
from tightrope.statistics.words import count, percent, plainly
from tightrope.tasks import Task

SHOWN = 5
"""Groups told of each agent; the report has all."""


def groups_of(results: ResultsBySuite) -> dict[str, tuple[FailureGroup, ...]]:
    """By agent the groups of its fails in all suites but controls."""
    return groups_by_agent(results, CONTROLS)


def group_line(group: FailureGroup, task: Task) -> str:
    """A group in one line: how much of the failing it is, whose fault, why, and a case of it."""
    share, cases = plainly(percent(group.share)), plainly(count(len(group.members), "case"))
    example = f"{'such as ' if len(group.members) > 1 else ''}{group.representative.case.id[:8]}"
    told = f"{share} of its fails ({cases}, {example}), {BLAME[group.avoidable]}"
    return f"{told}: {group.sentence(task)}"


def reasons_to_json(results: ResultsBySuite, task: Task) -> dict[str, list[dict[str, Any]]]:
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


def case_command(verb: str, run: Run, case: str, agent: str) -> str:
    """What to type to replay a case, or to be told why it failed."""
    # Quoted where a shell would part it: the case study's agents have names such as "2-moves late (sparse)".
    trust = ["--trust"] if is_code(run.config.task) else []
    return shlex.join(["tightrope", verb, str(run.path), case, "--agent", agent, *trust])
