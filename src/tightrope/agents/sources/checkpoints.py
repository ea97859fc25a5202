"""A folder of checkpoints: the agent files in it, from the oldest to the newest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tightrope.agents.sources.loaders import all_loaders
from tightrope.errors import UsageError

NUMBER = re.compile(r"(\d+(?:\.\d+)?)([km])(?![a-z])|\d+", re.IGNORECASE)
"""A number in a name, with its unit: thousands (``250k``) or millions (``1.5M``)."""
UNITS = {"k": 1_000, "m": 1_000_000}


def training_step(name: str) -> int | None:
    """The training step that a name tells: its largest number, as in ``rl_model_250000_steps`` or ``ppo-1.5M``."""
    return max(map(_steps, NUMBER.finditer(_without_ending(name))), default=None)


def _steps(found: re.Match[str]) -> int:
    value, unit = found.group(1), found.group(2)
    return int(found.group(0)) if value is None else round(float(value) * UNITS[unit.lower()])


def _without_ending(name: str) -> str:
    """The name without the ending of its kind of file; a dot within a number is none."""
    path = Path(name)
    return path.stem if path.suffix[1:2].isalpha() else path.name


def checkpoints_in(folder: Path) -> list[Path]:
    """The agent files of a folder, by the training step that their names tell, or else by name."""
    endings = tuple(ending for loader in all_loaders() for ending in loader.endings)
    files = [path for path in folder.iterdir() if path.is_file() and path.name.endswith(endings)]
    if not files:
        raise UsageError(f"there is no agent file in {folder}; tightrope reads {', '.join(endings)}")
    return by_training_step(files)


def by_training_step(paths: Iterable[Path]) -> list[Path]:
    """By the training step that the names tell, or else by name."""
    by_name = sorted(paths)
    steps = [training_step(path.name) for path in by_name]
    if any(step is None for step in steps) or len(set(steps)) < len(by_name):
        return by_name
    return [path for _, path in sorted(zip(steps, by_name, strict=True))]
