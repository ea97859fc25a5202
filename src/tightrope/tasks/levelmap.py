"""The picture that positions are drawn on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CELL = 32
"""Pixels of a grid cell."""

Colour = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class LevelMap:
    """An image and where positions lie on it: pixel = origin + scale × position, in x and in y."""

    image: NDArray[np.uint8]
    """Height × width × 3."""
    origin: tuple[float, float] = (0.0, 0.0)
    scale: tuple[float, float] = (1.0, 1.0)
    """A negative y scale turns heights into rows."""
    letters: tuple[tuple[float, float, str], ...] = ()
    """Pixels, and what is written there: for who does not tell the colours apart."""

    def to_pixels(self, position: tuple[float, float]) -> tuple[float, float]:
        """Where a position lies on the image."""
        return (
            self.origin[0] + self.scale[0] * position[0],
            self.origin[1] + self.scale[1] * position[1],
        )


def grid_map(
    rows: Sequence[Sequence[str]], colours: Mapping[str, Colour], default: Colour = (238, 240, 243)
) -> LevelMap:
    """A grid world from above, one letter per cell; the position (column, row) is the middle of its cell."""
    written = []
    image = np.empty((len(rows) * CELL, len(rows[0]) * CELL, 3), dtype=np.uint8)
    for row, letters in enumerate(rows):
        for column, letter in enumerate(letters):
            # The outermost row and column of pixels stay darker, as grid lines.
            cell = image[row * CELL : (row + 1) * CELL, column * CELL : (column + 1) * CELL]
            cell[:] = np.array(colours.get(letter, default), dtype=np.float64) * 0.88
            cell[1:, 1:] = colours.get(letter, default)
            if letter.strip():
                written.append(((column + 0.5) * CELL, (row + 0.5) * CELL, letter))
    return LevelMap(image, origin=(CELL / 2, CELL / 2), scale=(CELL, CELL), letters=tuple(written))
