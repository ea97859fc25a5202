"""``tightrope view``: run folders in a browser, as they are now."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli.arguments.options import PortOption, TrustOption
from tightrope.cli.output.interface import current_interface
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import PASSED
from tightrope.errors import UsageError

EXAMPLE = "tightrope view runs/"
NEEDS_ARGUMENTS = False


@verb
def command(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A run folder, or one with run folders in it (default: this one).")
    ] = Path(),
    port: PortOption = None,
    trust: TrustOption = False,
) -> int:
    """Show run folders in a browser, including those still being written: a list, and the report of each.

    Serves this machine alone, until Ctrl-C. Nothing is played, and nothing is written.
    """
    from tightrope.live.served_runs import ServedRuns
    from tightrope.live.server import open_server

    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; name a run folder, or one with run folders in it")
    interface = current_interface()
    served = ServedRuns(root=folder.resolve(), trust=trust)
    with open_server(served, port) as server, suppress(KeyboardInterrupt):
        places = list(served.known().values())
        url = server.url_of(places[0]) if [place.path for place in places] == [served.root] else server.url
        interface.say(f"{_found(len(places))} Live: {url}")
        interface.data({"url": url, "runs": len(places)})
        interface.remark("Ctrl-C ends it.")
        interface.flush()
        server.serve_forever()
    return PASSED


def _found(runs: int) -> str:
    return "No run folder yet." if not runs else "1 run folder." if runs == 1 else f"{runs:,} run folders."
