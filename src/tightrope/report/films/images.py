"""Still pictures as PNG, without an imaging library; moving ones as WebP, with one."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import MissingExtra, require_extra


def png_bytes(image: NDArray[np.uint8]) -> bytes:
    """An image (height, width, 3) as PNG; with a palette where 256 colours suffice, which halves game screens."""
    height, width, _ = image.shape
    packed = image.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    colours, indices = np.unique(packed, return_inverse=True)
    if len(colours) <= 256:
        pixels: NDArray[Any] = indices.reshape(height, width).astype(np.uint8)
        kind, palette = 3, _chunk(b"PLTE", b"".join(int(colour).to_bytes(3) for colour in colours))
    else:
        pixels, kind, palette = image.reshape(height, width * 3), 2, b""
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels], axis=1)
    header = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
    body = _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9))
    return b"\x89PNG\r\n\x1a\n" + header + palette + body + _chunk(b"IEND", b"")


def data_uri(content: bytes, kind: str) -> str:
    """Bytes as an address that needs no file and no network."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def sheet_bytes(image: NDArray[np.uint8]) -> tuple[bytes, str]:
    """A large still picture and its ending: PNG where that is small, else WebP if there is an imaging library."""
    content = png_bytes(image)
    try:
        require_extra("PIL.Image", "video", "Making a small picture")
    except MissingExtra:
        return content, ".png"
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "WEBP", quality=62, method=4)
    return min((content, ".png"), (buffer.getvalue(), ".webp"), key=lambda made: len(made[0]))


def webp_bytes(frames: Sequence[NDArray[np.uint8]], rate: int) -> bytes:
    """Frames as an animated WebP: what a film is without ffmpeg."""
    require_extra("PIL.Image", "video", "Making a film")
    from PIL import Image

    pictures = [Image.fromarray(frame) for frame in frames]
    buffer = io.BytesIO()
    pictures[0].save(
        buffer, "WEBP", save_all=True, append_images=pictures[1:], duration=1000 // rate, loop=0, quality=60, method=4
    )
    return buffer.getvalue()
