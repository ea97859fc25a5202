"""``tightrope explain``: why a case failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.arguments.options import RunArgument, TrustOption
from tightrope.cli.output.interface import Interface, current_interface
from tightrope.cli.output.reasons import print_reasons
from tightrope.cli.output.verdicts import named_case
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import PASSED

if TYPE_CHECKING:
    from tightrope.runs.questions.explaining import ExplainedCase
    from tightrope.runs.run import Run
    from tightrope.tasks import Task

EXAMPLE = "tightrope explain run/ 3f2a91   (without a case: why each agent fails, in a few sentences)"
NEEDS_ARGUMENTS = True
AROUND = 4
"""Steps shown before and after the decision."""


@verb
def command(
    run: RunArgument,
    case: Annotated[
        str | None,
        typer.Argument(metavar="CASE", help="A case's id, or the beginning of it. Default: say why each agent fails."),
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="The agent whose fail is explained.")] = None,
    suite: Annotated[str | None, typer.Option("--suite", help="The suite of the case.")] = None,
    trust: TrustOption = False,
) -> int:
    """Explain why a case failed: the decision that lost it, what would have saved it, what the agent saw and wanted."""
    from tightrope.runs.questions.explaining import explained_case
    from tightrope.runs.run import open_run

    interface = current_interface()
    opened = open_run(run, trust=trust)
    if case is None:
        return _all(interface, opened, agent, suite)
    told = explained_case(opened, case, agent, suite, trust=trust)
    _tell(interface, opened, told)
    interface.data(explanation_data(told, opened.task))
    return PASSED


def _all(interface: Interface, run: Run, agent: str | None, suite: str | None) -> int:
    from tightrope.errors import UnknownName
    from tightrope.runs.questions.reasons import reasons_to_json

    if agent is not None and agent not in run.agents:
        raise UnknownName("agent in this run", agent, run.agents)
    if suite is not None and suite not in run.safety:
        raise UnknownName("suite in this run", suite, run.safety)
    results = {
        name: {who: result for who, result in row.items() if agent in (None, who)}
        for name, row in run.safety.items()
        if suite in (None, name)
    }
    print_reasons(interface, run.task, results, run)
    interface.data(reasons_to_json(results, run.task))
    if not reasons_to_json(results, run.task):
        interface.say("No agent failed, so there is nothing to explain.")
    return PASSED


def _tell(interface: Interface, run: Run, told: ExplainedCase) -> None:
    from tightrope.explanation.words import BLAME, survival_in_words
    from tightrope.runs.questions.reasons import case_command

    stored, why, seen = told.stored, told.explanation, told.close_up
    interface.say(f"{named_case(stored)}: {BLAME[why.agents_fault]}.")
    interface.say(f"{why.sentence(run.task)}.")
    interface.say(f"Over time: {survival_in_words(why)}; hand-over at step {why.handover}, harm at {len(why.trace)}.")
    if seen.sentence(run.task):
        interface.say(f"{seen.sentence(run.task)}.")
    if told.note:
        interface.remark(f"{told.note[0].upper()}{told.note[1:]}")
    print_steps(interface, told, run.task, around=AROUND)
    interface.remark(f"Watch both: {case_command('replay', run, stored.result.case.id[:8], stored.agent)}")


def print_steps(interface: Interface, told: ExplainedCase, task: Task, around: int | None = None) -> None:
    """A table of the steps around the decision: what was done, seen and wanted, and beside it the escape."""
    from tightrope.explanation.telling import action_of, reward_of, values_of, wanted_of

    seen, names = told.close_up, tuple(task.action_names or ())
    centre = seen.fail[-1].depth if seen.decision is None else seen.decision
    escape = {instant.depth: instant for instant in seen.escape}
    shown = [each for each in seen.fail if around is None or abs(each.depth - centre) <= around]
    columns = ("step", "", "it did", "reward", "wanted", "saw", "escape", "its reward")
    rows = [
        (
            str(each.depth),
            "← decision"
            if each.depth == seen.decision
            else "hand-over"
            if each.depth == told.explanation.handover
            else "",
            action_of(each, names),
            reward_of(each),
            wanted_of(each, names),
            values_of(each, seen),
            action_of(escape.get(each.depth), names),
            reward_of(escape.get(each.depth)),
        )
        for each in shown
    ]
    kept = [index for index, column in enumerate(columns) if index < 2 or any(row[index] for row in rows)]
    interface.table(
        "Around the decision", [columns[index] for index in kept], [[row[index] for index in kept] for row in rows]
    )


def explanation_data(told: ExplainedCase, task: Task) -> dict[str, Any]:
    """An explanation for machines."""
    from tightrope.explanation.storage import close_up_to_json, explanation_to_json

    return {
        "case": told.stored.result.case.id,
        "agent": told.stored.agent,
        "suite": told.stored.suite,
        "sentence": told.explanation.sentence(task),
        "wanted": told.close_up.sentence(task),
        "explanation": explanation_to_json(told.explanation),
        "close_up": close_up_to_json(told.close_up),
    }
