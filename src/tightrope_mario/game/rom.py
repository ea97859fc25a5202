"""Find the Super Mario Bros. ROM without shipping it and without importing what carries it."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from tightrope.errors import UsageError

ROM_VARIABLE = "TIGHTROPE_MARIO_ROM"
ROM_SHA1 = "ab30029efec6ccfc5d65dfda7fbc6e6489a80805"
"""The dump (with its 16-byte iNES header) whose RAM layout and timing this task relies on."""

CARRIER = "gym_super_mario_bros"
WAYS = (
    f"Ways to give one: make_task('mario', rom=PATH) or --set rom=PATH; the environment variable {ROM_VARIABLE}; "
    f"or `pip install --no-deps gym-super-mario-bros`, whose copy is found by itself."
)


def find_rom(rom: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of a verified ROM: the one given, the environment variable's, or an installed package's."""
    for source, path in _candidates(rom):
        if not path.is_file():
            raise UsageError(f"There is no Super Mario Bros. ROM at {path} ({source}). {WAYS}")
        _verify(path)
        return path
    raise UsageError(f"No Super Mario Bros. ROM was found. {WAYS}")


def _candidates(rom: str | os.PathLike[str] | None) -> Iterator[tuple[str, Path]]:
    if rom is not None:
        yield "given as rom", Path(rom).expanduser()
    if os.environ.get(ROM_VARIABLE):
        yield f"given by {ROM_VARIABLE}", Path(os.environ[ROM_VARIABLE]).expanduser()
    # Importing the package would need an old gym and nes-py; its specification is enough to locate it.
    package = importlib.util.find_spec(CARRIER)
    for folder in (package.submodule_search_locations or ()) if package else ():
        yield "carried by gym-super-mario-bros", Path(folder, "_roms", "super-mario-bros.nes")


def _verify(path: Path) -> None:
    found = hashlib.sha1(path.read_bytes()).hexdigest()
    if found != ROM_SHA1:
        raise UsageError(
            f"{path} is not the Super Mario Bros. dump this task is written for: "
            f"its sha1 is {found}, expected {ROM_SHA1}. {WAYS}"
        )
