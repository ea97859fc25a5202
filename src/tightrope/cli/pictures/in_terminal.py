"""Pictures in a terminal: each character shows two pixels, one above the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

COLUMNS = 78
"""Fits the usual 80 columns."""


def frame_text(frame: NDArray[np.uint8], columns: int = COLUMNS) -> str:
    """A picture (height, width, 3) as coloured half blocks."""
    height, width, _ = frame.shape
    columns = min(columns, width)
    rows = max(2, 2 * round(columns * height / width / 2))
    down = np.linspace(0, height - 1, rows).round().astype(int)
    across = np.linspace(0, width - 1, columns).round().astype(int)
    small = frame[down][:, across]
    lines = []
    for upper, lower in zip(small[::2], small[1::2], strict=True):
        cells = [
            f"\x1b[38;2;{top[0]};{top[1]};{top[2]};48;2;{bottom[0]};{bottom[1]};{bottom[2]}m▀"
            for top, bottom in zip(upper, lower, strict=True)
        ]
        lines.append("".join(cells) + "\x1b[0m")
    return "\n".join(lines)
