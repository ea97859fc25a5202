"""``tightrope mario``: the Super Mario Bros. case study."""

from __future__ import annotations

import typer

from tightrope_mario.verbs import lessons, levels, reproduce, ship, train

VERBS = {"train": train, "lessons": lessons, "ship": ship, "reproduce": reproduce, "levels": levels}
"""In the order of the help."""

app = typer.Typer(
    help="Super Mario Bros.: train agents, reproduce the figures of the paper.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
for name, module in VERBS.items():
    app.command(name, epilog=f"Example: {module.EXAMPLE}", no_args_is_help=module.NEEDS_ARGUMENTS)(module.command)
