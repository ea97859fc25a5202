"""The ``tightrope`` command: its verbs and their examples."""

from __future__ import annotations

from typing import Annotated

import typer

from tightrope import __version__
from tightrope.cli import (
    bisect,
    check,
    compare,
    explain,
    export,
    failures,
    fuzz,
    history,
    init,
    keep,
    performance,
    replay,
    report,
    risk,
    run,
    safety,
    search,
    tasks,
    view,
)
from tightrope.cli.interface import EVERYWHERE, verb
from tightrope.errors import ExtensionError
from tightrope.extensions import Extension, extensions

VERBS = "tightrope.verbs"
"""Entry points of packages that bring verbs of their own: each names a ``typer.Typer``."""
EPILOG = "Everywhere: " + ", ".join(f"{flag} ({meaning})" for flag, meaning in EVERYWHERE.items())

app = typer.Typer(
    name="tightrope",
    help="Where does a trained agent fail, how often, and is it really its fault? Search the environment and see.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog=f"Example: {run.EXAMPLE}. {EPILOG}. "
    "Exit codes: 0 passed, 1 a gate failed, 2 wrong use, 3 nothing could be judged, 130 interrupted.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tightrope {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None: ...


def _add_verb(extension: Extension) -> None:
    """Add a package's verb; one that cannot be loaded says so when it is called, and the others go on working."""
    try:
        verbs = extension.load(_broken_rule)
    except ExtensionError as error:
        broken = error

        @verb
        def refuse() -> int:
            raise broken

        settings = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
        app.command(extension.name, help=str(broken), context_settings=settings)(refuse)
    else:
        app.add_typer(verbs, name=extension.name)


def _broken_rule(verbs: object) -> str:
    return "" if isinstance(verbs, typer.Typer) else f"a typer.Typer is needed, not {verbs!r:.80}"


for module in (
    run,
    search,
    safety,
    fuzz,
    performance,
    failures,
    risk,
    report,
    view,
    explain,
    replay,
    compare,
    bisect,
    history,
    keep,
    export,
    check,
    tasks,
    init,
):
    verb_name = module.__name__.rsplit(".", 1)[1]
    app.command(verb_name, epilog=f"Example: {module.EXAMPLE}", no_args_is_help=module.NEEDS_ARGUMENTS)(module.command)
for brought in extensions(VERBS).values():
    _add_verb(brought)
