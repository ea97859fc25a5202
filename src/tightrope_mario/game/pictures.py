"""What an agent sees: four stacked 84 × 84 grey pictures, made only when somebody looks.

The reduction is integer arithmetic, so pictures are the same bits on every machine and with every version of every
library. Weights are 1/256 for grey and 1/16 for the place between two pixels: 8 + 4 bits fit 16, and all 8 + 4 + 8 + 4
fit 32.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tightrope_mario.game.emulator import Machine, Mask

SIZE = 84
STACK = 4
DIGEST_BYTES = 16
"""Of a picture."""
SHAPE = (STACK, SIZE, SIZE)
SCREEN_HEIGHT, SCREEN_WIDTH = 224, 240

_RED, _GREEN, _BLUE = np.uint32(77), np.uint32(150), np.uint32(29)
_STEPS = 16
_BITS, _HALF = 16, 1 << 15
"""All weights together are 2¹⁶; half of that rounds."""


def _neighbours(length: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.uint16]]:
    """For each of the 84 places: the two source pixels around it, and the second one's share in sixteenths."""
    places = (np.arange(SIZE) + 0.5) * length / SIZE - 0.5
    first = np.floor(places).astype(np.intp)
    share = np.round((places - first) * _STEPS).astype(np.uint16)
    return np.clip(first, 0, length - 1), np.clip(first + 1, 0, length - 1), share


_TOP, _BOTTOM, _down = _neighbours(SCREEN_HEIGHT)
_LEFT, _RIGHT, _across = _neighbours(SCREEN_WIDTH)
_TO_TOP, _TO_BOTTOM = (_STEPS - _down)[:, None], _down[:, None]
_TO_LEFT, _TO_RIGHT = (_STEPS - _across).astype(np.uint32), _across.astype(np.uint32)


def reduce_screen(screen: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Turn a 224 × 240 RGB screen into 84 × 84 grey, interpolating linearly."""
    rows = screen.reshape(SCREEN_HEIGHT, SCREEN_WIDTH * 3)
    # Downwards first, in 16 bits: later there are fewer lines for the wider numbers.
    lines = rows.take(_TOP, 0) * _TO_TOP
    lines += rows.take(_BOTTOM, 0) * _TO_BOTTOM
    colours = lines.reshape(SIZE, SCREEN_WIDTH, 3)
    grey = colours[:, :, 0] * _RED
    grey += colours[:, :, 1] * _GREEN
    grey += colours[:, :, 2] * _BLUE
    sums = grey.take(_LEFT, 1) * _TO_LEFT
    sums += grey.take(_RIGHT, 1) * _TO_RIGHT
    sums += _HALF
    sums >>= _BITS
    return sums.astype(np.uint8)


class FrameRecord:
    """How to see one frame: the state before it and the buttons; and its picture, once somebody has looked."""

    __slots__ = ("before", "digest", "looked_at", "picture", "pressed")

    def __init__(self, before: bytes, pressed: Mask) -> None:
        self.before = before
        self.pressed = pressed
        self.picture: NDArray[np.uint8] | None = None
        self.digest: bytes | None = None
        self.looked_at = False

    def content(self, machine: Machine) -> bytes:
        """What tells the picture from others."""
        if self.digest is None:
            self.digest = blake2b(self.draw(machine).data, digest_size=DIGEST_BYTES).digest()
        return self.digest

    def draw(self, machine: Machine) -> NDArray[np.uint8]:
        """The picture, made if need be; sharing this record shares the work."""
        if self.picture is None:
            self.picture = reduce_screen(machine.screen(self.before, self.pressed))
        return self.picture


class LazyFrames:
    """An observation that becomes an array when it is looked at (``numpy.asarray``)."""

    __slots__ = ("_machine", "_records")

    shape = SHAPE
    dtype = np.dtype(np.uint8)
    ndim = len(SHAPE)

    def __init__(self, machine: Machine, records: tuple[FrameRecord, ...]) -> None:
        self._machine = machine
        self._records = records

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        self._records[-1].looked_at = True
        # Newest first: its picture is often still on the emulator's screen.
        pictures = [record.draw(self._machine) for record in reversed(self._records)]
        array = np.stack(pictures[::-1])
        return array if dtype is None else array.astype(dtype, copy=False)

    def content(self) -> bytes:
        """What tells the four pictures from any others; each was looked at once, when it was new."""
        self._records[-1].looked_at = True
        contents = [record.content(self._machine) for record in reversed(self._records)]
        return b"".join(contents)

    def newest(self) -> NDArray[np.uint8]:
        """The last of the four pictures alone, for those who keep the others themselves."""
        self._records[-1].looked_at = True
        return self._records[-1].draw(self._machine)

    def __len__(self) -> int:
        return STACK

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self)[index]

    def __repr__(self) -> str:
        return f"LazyFrames(shape={self.shape}, dtype=uint8)"
