"""``tightrope history``: a row of checkpoints through training."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.cli.arguments.options import TrustOption
from tightrope.cli.output.interface import Interface, current_interface
from tightrope.cli.output.risks import say_reservations
from tightrope.cli.output.words import amount, share
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import NOTHING_JUDGED, PASSED

if TYPE_CHECKING:
    from tightrope.report.training import History
    from tightrope.risk import FailureEstimate
    from tightrope.runs.run import Run

EXAMPLE = "tightrope run CartPole-v1 --agent checkpoints/ --out run/   then   tightrope history run/"
NEEDS_ARGUMENTS = True
NEVER, SOME, HALF = "·", "▪", "■"
"""A kind of failure at a checkpoint: not met, met now and then, met in half of the executions or more. One that is not
met may have made room for another kind in the same case."""


@verb
def command(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="A run folder with several checkpoints, or a folder of run folders."),
    ],
    risk: Annotated[
        int | None,
        typer.Option(
            "--risk",
            metavar="STEPS",
            help="Also estimate the risk of each checkpoint in use, with so many steps.",
            min=1,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Also write a report with the history in it.")
    ] = None,
    trust: TrustOption = False,
) -> int:
    """Show fail frequency, return and kinds of failure over a training run: what appears, and what goes away."""
    from tightrope.runs.questions.history import history_of, runs_in

    interface = current_interface()
    runs = runs_in(folder, trust=trust)
    risks = {} if risk is None else _risks(interface, runs, risk, trust)
    history = history_of(runs, risks)
    _print(interface, history, risks)
    content = history.to_json()
    if risks:
        content["risk"] = {agent: found.to_json() for agent, found in risks.items()}
    if out is not None:
        content["report"] = str(_written(runs, history, out))
        interface.say(f"Report: {content['report']}")
    interface.data(content)
    return PASSED if any(each.safety or each.plain for each in history.checkpoints) else NOTHING_JUDGED


def _risks(interface: Interface, runs: list[Run], steps: int, trust: bool) -> dict[str, FailureEstimate]:
    from tightrope.budget import Budget
    from tightrope.cli.arguments.stored import stored_config
    from tightrope.risk import estimate_failure
    from tightrope.runs.campaign import load_agents

    found: dict[str, FailureEstimate] = {}
    with interface.progress() as show:
        for run in runs:
            agents = load_agents(stored_config(run.path, trust=trust, agents=True).agents, run.task)
            for name, agent in agents.items():
                found[name] = estimate_failure(run.task, agent, budget=Budget(steps=steps), on_progress=show)
    return found


def _written(runs: list[Run], history: History, folder: Path) -> Path:
    from tightrope.report import write_report
    from tightrope.runs.questions.assembly import report_results

    with ExitStack() as stack:
        for run in runs:
            stack.enter_context(run.folder.locked())
        results = report_results(runs)
    return write_report(replace(results, history=history), folder, tasks=[run.task for run in runs], videos=0)


def _print(interface: Interface, history: History, risks: dict[str, FailureEstimate]) -> None:
    rows = [
        (
            each.agent,
            each.step,
            "no data" if each.plain is None else share(each.plain.unsafe_rate),
            "no data" if each.plain is None else amount(each.plain.mean_return),
            *(share(each.fail_frequency(suite)) for suite in history.suites),
            *([risks[each.agent].probability_text()] if each.agent in risks else ["no data"] if risks else []),
        )
        for each in history.checkpoints
    ]
    suites = (f"fails, {suite}" for suite in history.suites)
    columns = ("checkpoint", "step", "plain: unsafe", "plain: return", *suites, *(["risk in use"] if risks else []))
    interface.table(f"{history.task} through training", columns, rows)
    say_reservations(interface, risks.values())
    kinds = [
        (
            history.name_of(row),
            "".join(map(_mark, row.shares)),
            history.checkpoints[row.first].agent,
            history.end_of(row),
            {True: "yes", False: "no", None: "unknown"}[row.group.avoidable],
        )
        for row in history.failures
    ]
    if kinds:
        legend = f"{NEVER} does not fail so, {SOME} fails so, {HALF} half of the time or more, space: not known"
        interface.table(
            f"Kinds of failure ({legend})",
            ("case", "over training", "appears at", "gone at", "avoidable"),
            kinds,
        )
    no_failure = "No checkpoint failed in any case it was tested with"
    interface.say(f"{history.sentence() if history.failures else no_failure}.")


def _mark(fails: float | None) -> str:
    if fails is None:
        return " "
    return NEVER if fails == 0 else HALF if fails >= 0.5 else SOME
