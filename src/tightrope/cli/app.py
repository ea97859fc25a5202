"""The ``tightrope`` command: its verbs and their examples."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Annotated

import typer

from tightrope import __version__
from tightrope.cli import verbs
from tightrope.cli.output.interface import EVERYWHERE
from tightrope.cli.process.command import verb
from tightrope.cli.verbs import run
from tightrope.errors import ExtensionError
from tightrope.extensions import Extension, extensions

VERBS = "tightrope.verbs"
"""Entry points of packages that bring verbs of their own: each names a ``typer.Typer``."""
ORDER = (
    "run", "search", "safety", "fuzz", "performance", "failures", "risk", "report", "view", "explain", "replay",
    "compare", "bisect", "history", "keep", "export", "quantise", "check", "tasks", "init",
)  # fmt: skip
"""How one meets the verbs in the help; whichever is not named here comes after them."""
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
        brought = extension.load(_broken_rule)
    except ExtensionError as error:
        broken = error

        @verb
        def refuse() -> int:
            raise broken

        settings = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
        app.command(extension.name, help=str(broken), context_settings=settings)(refuse)
    else:
        app.add_typer(brought, name=extension.name)


def _broken_rule(brought: object) -> str:
    return "" if isinstance(brought, typer.Typer) else f"a typer.Typer is needed, not {brought!r:.80}"


def _own_verbs() -> Iterator[tuple[str, ModuleType]]:
    """The files of ``verbs``, in their order."""
    names = sorted(each.name for each in pkgutil.iter_modules(verbs.__path__))
    for name in sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER)):
        yield name, importlib.import_module(f"{verbs.__name__}.{name}")


for own_name, module in _own_verbs():
    app.command(own_name, epilog=f"Example: {module.EXAMPLE}", no_args_is_help=module.NEEDS_ARGUMENTS)(module.command)
for extension in extensions(VERBS).values():
    _add_verb(extension)
