"""What got worse from one agent to the next, case by case, and the command that shows the worst of it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tightrope.cli.output.interface import current_interface
from tightrope.cli.output.verdicts import place_text
from tightrope.cli.output.words import counted, in_percent

if TYPE_CHECKING:
    from tightrope.runs.questions.contest import AgentComparison
    from tightrope.safety import SafetyComparison
    from tightrope.safety.compare import CaseDifference

SHOWN = 10
"""Cases listed per suite; --json has all."""


def say_what_changed(suite: str, comparison: SafetyComparison) -> None:
    """The cases that fail more often, and how many newly fail or pass."""
    _list_worse(suite, comparison)
    _say_what_is_new(suite, comparison)
    if comparison.errors:
        current_interface().say(
            f"{suite}: {counted(comparison.errors, 'execution')} raised errors, which these numbers leave out."
        )


def _list_worse(suite: str, comparison: SafetyComparison) -> None:
    more = comparison.fails_more
    if not more:
        return
    rows = [
        (
            case.case.id,
            place_text(case.case, suite),
            case.case.label,
            in_percent(case.fail_frequency_a.value),
            in_percent(case.fail_frequency_b.value),
            str(case.survivable),
        )
        for case in more[:SHOWN]
    ]
    columns = ("case", "place", "situation", "fails before", "fails now", "survivable")
    shown = f"{len(rows)} of {counted(len(more), 'case')}" if len(rows) < len(more) else counted(len(rows), "case")
    current_interface().table(f"Fails more often in {suite} ({shown}; --json has all)", columns, rows)


def _say_what_is_new(suite: str, comparison: SafetyComparison) -> None:
    """Where nothing is random a case that newly fails is a fact, whatever became of the others."""
    more, less = len(comparison.fails_more), len(comparison.fails_less)
    if comparison.cases:
        current_interface().say(
            f"{suite}: of {counted(len(comparison.cases), 'case')} {more} failed more often, {less} less often and "
            f"{len(comparison.cases) - more - less} as often as before."
        )
    new, mended = comparison.newly_failing, comparison.newly_fixed
    for cases, what in ((new, "newly failing"), (mended, "newly passed")):
        if cases:
            sure = sum(case.certain for case in cases)
            kind = (
                "nothing is random there, so that is a fact"
                if sure == len(cases)
                else "as far as these executions show"
            )
            current_interface().say(f"{suite}: {counted(len(cases), what + ' case')}, {kind}.")


def say_what_became_of_it(comparison: AgentComparison) -> None:
    """In one sentence, with the command that shows the clearest regression or, without one, the worst that is left."""
    searched = _searched_suites(comparison)
    if any(each.cases for each in searched.values()):
        _sum_up(comparison, searched)
    worse = [(name, case) for name, each in searched.items() for case in each.fails_more]
    if worse:
        suite, case = max(worse, key=lambda one: (one[1].survivable != "no", one[1].certain, one[1].difference))
        _say_what_to_watch(comparison, suite, case)
    else:
        _say_what_still_fails(comparison, searched)


def _searched_suites(comparison: AgentComparison) -> dict[str, SafetyComparison]:
    """Those whose cases were searched for; what changed in random cases is no regression of its own."""
    from tightrope.runs.storage.layout import CONTROLS

    return {name: each for name, each in comparison.suites.items() if name not in CONTROLS}


def _sum_up(comparison: AgentComparison, searched: Mapping[str, SafetyComparison]) -> None:
    from tightrope.report.wording import listed

    a, b = comparison.agent_a, comparison.agent_b
    new = {case.case.id for each in searched.values() for case in each.newly_failing}
    mended = {case.case.id for each in searched.values() for case in each.newly_fixed}
    worse = [name for name, each in searched.items() if each.worse]
    better = [name for name, each in searched.items() if each.better]
    plainly = comparison.plain is not None and comparison.plain.fails_more
    told = ["fails more plain episodes"] if plainly else []
    told += ["fails fewer plain episodes"] if comparison.plain is not None and comparison.plain.better else []
    told += [f"fails more often than {a} in {listed(worse)}"] if worse else []
    told += [f"fails less often than {a} in {listed(better)}"] if better else []
    told += [f"fails {counted(len(new), 'case') if new else 'no case'} that {a} passes"]
    told += [f"passes {len(mended)} that {a} fails"] if mended else []
    current_interface().say(f"{'✗' if new or plainly or worse else '✓'} {b} {listed(told)}.")


def _say_what_to_watch(comparison: AgentComparison, suite: str, worst: CaseDifference) -> None:
    from tightrope.runs.trust import is_code

    if naming := comparison.naming[suite]:
        home = comparison.homes[suite]
        trust = ["--trust"] if is_code(home.config.task) and "--trust" not in naming else []
        command = ["tightrope", "replay", str(home.path), worst.case.id[:8], *naming, *trust]
        current_interface().remark(f"Watch: {shlex.join(command)}")


def _say_what_still_fails(comparison: AgentComparison, searched: Mapping[str, SafetyComparison]) -> None:
    """The command that explains the worst of what is left, if the run knows the agent."""
    from tightrope.runs.questions.reasons import case_command

    still = [
        (name, case)
        for name, each in searched.items()
        if comparison.naming[name][1:] and comparison.naming[name][1] in comparison.run.agents
        for case in each.cases
        if case.fail_frequency_b.value
    ]
    if still:
        suite, worst = max(still, key=lambda one: (one[1].survivable != "no", one[1].fail_frequency_b.value or 0.0))
        command = case_command("explain", comparison.run, worst.case.id[:8], comparison.naming[suite][1])
        current_interface().remark(f"Where it still fails: {command}")
