"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope_mario.shipped import SHIPPED

RomOption = Annotated[Path | None, typer.Option("--rom", help="The ROM file.", show_default=False)]
AgentsOption = Annotated[
    Path | None, typer.Option("--agents", metavar="FOLDER", help=f"Folder with the agents. Default: {SHIPPED}.")
]
