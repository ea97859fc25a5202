"""``tightrope mario reproduce``: the figures of the paper, for the agents there are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope import ExecutionConfig
from tightrope.extending import PASSED, Given, current_interface, own, takes, verb
from tightrope_mario.verbs.options import AgentsOption

EXAMPLE = "tightrope mario reproduce --out runs/reproduction   or with --config part.yaml"
NEEDS_ARGUMENTS = False


@verb
@takes(execution=own(ExecutionConfig, "workers"))
def command(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Receives a run folder for each level, and the report.")
    ] = Path("runs/reproduction"),
    config: Annotated[
        Path | None, typer.Option("--config", help="A file that names a part of it (YAML, TOML).")
    ] = None,
    agents: AgentsOption = None,
    given: Given = Given(),
) -> int:
    """Run the paper's experiments for the agents there are; its numbers stand beside ours in one report. It resumes."""
    from tightrope.extending import load_settings
    from tightrope_mario.reproduce import ReproductionConfig
    from tightrope_mario.reproduce import reproduce as run_reproduction

    settings = ReproductionConfig() if config is None else load_settings(config, ReproductionConfig)
    if agents is not None:
        settings = settings.model_copy(update={"agents": agents})
    settings = settings.model_copy(update={"execution": given.changed("execution", settings.execution)})
    interface = current_interface()
    with interface.progress() as show:
        report = run_reproduction(settings, out, on_progress=show)
    interface.say(f"Report: {report}")
    interface.data({"report": str(report)})
    return PASSED
