"""Why agents failed, in a few sentences: one for each group of failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tightrope.cli.output.interface import Interface
from tightrope.cli.output.words import counted

if TYPE_CHECKING:
    from tightrope.runs.run import Run
    from tightrope.safety.judging.results import ResultsBySuite
    from tightrope.tasks import Task


def print_reasons(interface: Interface, task: Task, results: ResultsBySuite, run: Run | None = None) -> None:
    """The groups of each agent's fails, and the command that shows more of one."""
    from tightrope.runs.questions.reasons import SHOWN, case_command, group_line, groups_of
    from tightrope.safety.failing.groups import rest_of_groups

    for agent, groups in groups_of(results).items():
        explained = [group for group in groups if group.explanation is not None]
        told = [f"{counted(len(explained), 'group')} of fails"] if explained else []
        if len(explained) < len(groups):
            # Nothing joins those to others, so each is one case.
            told.append(f"{counted(len(groups) - len(explained), 'case')} not explained")
        interface.say(f"Why {agent} fails ({', '.join(told)}):")
        shown = explained[:SHOWN] or groups[:SHOWN]
        for group in shown:
            interface.say(f"  {group_line(group, task)}")
        rest = rest_of_groups(groups, len(shown))
        if rest:
            interface.say(f"  {rest}")
        if run is not None:
            case = shown[0].representative.case.id[:8]
            interface.remark(f"  More: {case_command('explain', run, case, agent)}")
