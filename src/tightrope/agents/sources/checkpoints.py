"""A folder of checkpoints: the agent files in it, from the oldest to the newest."""

from __future__ import annotations

import re
from pathlib import Path

from tightrope.agents.sources.loaders import all_loaders
from tightrope.errors import UsageError

NUMBER = re.compile(r"\d+")


def training_step(name: str) -> int | None:
    """The training step that a file name tells: its largest number, as in ``rl_model_250000_steps``."""
    numbers = [int(number) for number in NUMBER.findall(Path(name).stem)]
    return max(numbers, default=None)


def checkpoints_in(folder: Path) -> list[Path]:
    """The agent files of a folder, by the training step that their names tell, or else by name."""
    endings = tuple(ending for loader in all_loaders() for ending in loader.endings)
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name.endswith(endings)]
    if not files:
        raise UsageError(f"there is no agent file in {folder}; known are {', '.join(endings)}")
    steps = [training_step(path.name) for path in files]
    if any(step is None for step in steps) or len(set(steps)) < len(files):
        return files
    return [path for _, path in sorted(zip(steps, files, strict=True))]
