"""``tightrope keep``: what failed once is tested for ever."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.cli.arguments.given import Given, own, takes
from tightrope.cli.arguments.manner import manner_of, manner_options
from tightrope.cli.arguments.options import RunArgument, TrustOption
from tightrope.cli.arguments.stored import stored_config
from tightrope.cli.output.interface import current_interface
from tightrope.cli.output.words import counted, in_percent
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import PASSED
from tightrope.errors import UsageError
from tightrope.settings import KeepConfig

if TYPE_CHECKING:
    from tightrope.runs.questions.keeping import Keeping
    from tightrope.runs.run import Run

EXAMPLE = "tightrope keep run/ --groups --out kept.suite.json"
NEEDS_ARGUMENTS = True


@verb
@takes(keep=own(KeepConfig))
def command(
    run: RunArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The suite file. Cases that it already has are kept.")
    ] = Path("kept.suite.json"),
    groups: Annotated[
        bool, typer.Option("--groups", help="One situation for each failure group (always the case).")
    ] = True,
    as_found: Annotated[
        bool,
        typer.Option(
            "--as-found", help="Keep situations as they were found, without simplifying them; needs no agent."
        ),
    ] = False,
    given: Given = Given(),
    trust: TrustOption = False,
) -> int:
    """Turn failures into a suite for every later agent: one case for each failure group, made as simple as possible."""
    from tightrope.budget import Budget
    from tightrope.runs.campaign import load_agents
    from tightrope.runs.questions.keeping import keep_failures
    from tightrope.runs.run import open_run
    from tightrope.safety import load_suite, save_suite

    if not out.name.endswith(".suite.json"):
        raise UsageError(f"a suite file is named NAME.suite.json, not {out.name}")
    interface = current_interface()
    config = stored_config(run, trust=trust, agents=not as_found)
    opened = open_run(run, trust=trust)
    agents = None if as_found else load_agents(config.agents, opened.task)
    earlier = load_suite(out) if out.exists() else None
    with interface.progress() as show:
        keeping = keep_failures(
            opened,
            agents,
            earlier=earlier,
            budget=Budget(steps=given.changed("keep", KeepConfig()).steps),
            on_progress=show,
        )
    save_suite(keeping.suite, out)
    _report(opened, keeping, out)
    return PASSED


def _report(run: Run, keeping: Keeping, out: Path) -> None:
    interface = current_interface()
    rows = [
        (
            failure.kept.id,
            failure.agent,
            in_percent(failure.group.share),
            len(failure.found),
            len(failure.kept),
            "new" if failure.new else "known",
        )
        for failure in keeping.failures
    ]
    columns = ("case", "agent", "of all fails", "actions to it as found", "as kept", "in the suite")
    interface.table(f"Kept: {counted(len(keeping.suite), 'situation')} in {out}", columns, rows)
    if keeping.left_out:
        left_out = counted(keeping.left_out, "failure group")
        interface.say(f"Left out, because no player could have avoided them: {left_out}.")
    played = manner_options(manner_of(run, Given()))
    interface.remark(f"Run it on every checkpoint: tightrope safety {out} --agent AGENT{played} --max-fail 0")
    interface.data(
        {
            "suite": str(out),
            "cases": len(keeping.suite),
            "kept": [dict(zip(columns, row, strict=True)) for row in rows],
            "left_out": keeping.left_out,
        }
    )
