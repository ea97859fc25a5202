"""``tightrope report``: make the report anew, of one run or several."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli.arguments.given import Given, own, takes
from tightrope.cli.arguments.options import TrustOption
from tightrope.cli.output.interface import current_interface
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import PASSED
from tightrope.errors import UsageError
from tightrope.settings import ReportConfig

EXAMPLE = "tightrope report run/   or   tightrope report run-a run-b --out both/"
NEEDS_ARGUMENTS = True


@verb
@takes(report=own(ReportConfig))
def command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="One or more run folders.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Default: RUN/report.")] = None,
    given: Given = Given(),
    trust: TrustOption = False,
) -> int:
    """Write the report of one run, or one report over several.

    Settings that you do not give are taken from the run.
    """
    from tightrope.report import write_report
    from tightrope.runs.questions.assembly import report_results
    from tightrope.runs.run import open_run

    if len(runs) > 1 and out is None:
        raise UsageError("a report over several runs needs a folder of its own; name it with --out FOLDER")
    interface = current_interface()
    opened = [open_run(run, trust=trust) for run in {run.resolve(): run for run in runs}.values()]
    with ExitStack() as stack:
        for run in opened:
            stack.enter_context(run.folder.locked())
        results = report_results(opened, title=given.get("report", "title"))
    target = out or opened[0].report_path.parent
    videos = given.get("report", "videos")
    wanted = max(run.config.report.videos for run in opened) if videos is None else videos
    path = write_report(results, target, tasks=[run.task for run in opened], videos=wanted)
    interface.say(f"Report: {path}")
    interface.data({"report": str(path)})
    return PASSED
