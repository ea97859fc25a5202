"""A verb: ``tightrope crossing lights``."""

from __future__ import annotations

import typer

from tightrope_crossing.world import LIGHTS

app = typer.Typer(help="The road with traffic lights.", no_args_is_help=True)


@app.callback()
def _options() -> None: ...


@app.command()
def lights() -> None:
    """Print when the lights are green."""
    typer.echo(LIGHTS)
