"""``tightrope export``: what would have been better, as a data set to learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli.arguments.options import TrustOption
from tightrope.cli.output.interface import current_interface
from tightrope.cli.output.words import counted
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import NOTHING_JUDGED, PASSED
from tightrope.errors import UnknownName, UsageError

EXAMPLE = "tightrope export run/ --minari lunarlander/escapes-v0   or   tightrope export run/ --npz escapes.npz"
NEEDS_ARGUMENTS = True


@verb
def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    minari: Annotated[
        str | None, typer.Option("--minari", metavar="NAME", help="Name of a new Minari data set.")
    ] = None,
    npz: Annotated[Path | None, typer.Option("--npz", metavar="FILE", help="File to write.")] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="Whose failing cases; default: those of all agents.")
    ] = None,
    trust: TrustOption = False,
) -> int:
    """Write the escapes from failing cases and the rest of the references as data for training."""
    from tightrope.outcome import Outcome
    from tightrope.runs.run import open_run
    from tightrope.training.datasets import write_minari, write_npz
    from tightrope.training.demonstrations import demonstrations

    if minari is None and npz is None:
        raise UsageError("name where to write it: --minari NAME, --npz FILE, or both")
    opened = open_run(run, trust=trust)
    if agent is not None and agent not in opened.agents:
        raise UnknownName("agent in this run", agent, opened.agents)
    results = [
        result for row in opened.safety.values() for name, result in row.items() if agent is None or name == agent
    ]
    # Runs of agents serve as references, too: some stand about until time is over, some end where they were lost.
    endings = {outcome: [known for known in opened.references if known.trace.outcome is outcome] for outcome in Outcome}
    references = endings[Outcome.GOAL] or endings[Outcome.TRUNCATED]
    found = list(demonstrations(opened.task, results, references))
    interface = current_interface()
    if not found:
        interface.say("Nothing to export: the run has no reference that ends well, and no failing case with an escape.")
        interface.data({"episodes": 0})
        return NOTHING_JUDGED
    written = {}
    if minari is not None:
        written["minari"] = str(write_minari(minari, opened.task, found))
    if npz is not None:
        write_npz(npz, opened.task, found)
        written["npz"] = str(npz)
    steps = sum(map(len, found))
    interface.say(f"{counted(len(found), 'episode')}, {counted(steps, 'step')}: " + ", ".join(written.values()))
    interface.data({**written, "episodes": len(found), "steps": steps})
    return PASSED
