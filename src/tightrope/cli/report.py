"""``tightrope report``: make the report anew, of one run or several."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli.interface import current_interface, verb
from tightrope.cli.options import TrustOption
from tightrope.cli.stored import campaign_of
from tightrope.cli.supervision import PASSED
from tightrope.errors import UsageError
from tightrope.runs.config import ExecutionConfig

EXAMPLE = "tightrope report run/   or   tightrope report run-a run-b --out both/"
NEEDS_ARGUMENTS = True


@verb
def command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="One or more run folders.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Default: RUN/report.")] = None,
    title: Annotated[str | None, typer.Option("--title", help="Headline.")] = None,
    videos: Annotated[
        int | None, typer.Option("--videos", help="How many failures to film; default: as many as the run says.", min=0)
    ] = None,
    trust: TrustOption = False,
) -> int:
    """Write the report of one run, or one report over several."""
    from tightrope.report import write_report
    from tightrope.runs.assembly import assemble
    from tightrope.runs.folder import RunFolder

    if len(runs) > 1 and out is None:
        raise UsageError("a report over several runs belongs to none of them; say where it goes with --out FOLDER")
    interface = current_interface()
    folders = [RunFolder.open(run) for run in runs]
    with ExitStack() as stack:
        campaigns = []
        for folder in {folder.path.resolve(): folder for folder in folders}.values():
            stack.enter_context(folder.locked())
            # What the report replays is little, and mostly stored: not worth starting workers for.
            campaign = campaign_of(folder, trust=trust, execution=ExecutionConfig(backend="inline"))
            campaigns.append((campaign, stack.enter_context(campaign.engine(agents={}))))
        results = assemble(campaigns, title=title)
    target = out or folders[0].report_path.parent
    wanted = max(campaign.config.report.videos for campaign, _ in campaigns) if videos is None else videos
    path = write_report(results, target, tasks=[campaign.task for campaign, _ in campaigns], videos=wanted)
    interface.say(f"Report: {path}")
    interface.data({"report": str(path)})
    return PASSED
