"""Films of failures: stored actions are played again in an environment that renders."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import EnvironmentFailure, MissingExtra, NotReproducible, require_extra
from tightrope.guards.faults import misdeed
from tightrope.outcome import Outcome
from tightrope.report.charts.maps import draw_ground
from tightrope.report.films.images import png_bytes, webp_bytes
from tightrope.simulation import Simulator, play
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

Picture = NDArray[np.uint8]

LEAD = 25
"""Steps shown before hand-over, so that one sees how the agent came there."""
LINGER = 12
"""Frames the last picture is held."""
RATE = 15
"""Frames a second, where the environment names no rate of its own below 30."""
SMALLEST, WIDEST = 480, 720
"""Pixels across: smaller frames are shown in larger pixels, wider ones are thinned out, as films stay small."""
BAR = 8
"""Height in pixels of the bar below the picture, which turns red at hand-over."""
RIM = 6
"""Pixels of the red frame around the moment of failing."""
LARGEST_POSTER = 150_000
"""Bytes of a poster; a larger one is thinned out."""
GREY, RED = (139, 147, 157), (200, 67, 31)


@dataclass(frozen=True, kw_only=True)
class Film:
    """An encoded film."""

    content: bytes
    suffix: str
    """``.mp4``, or ``.webp`` where there is no ffmpeg."""
    poster: bytes = b""
    """The moment of failing as PNG, for print and before the film is played."""


def film_failure(task: Task, trace: ActionTrace, handover: int, *, expect: Outcome = Outcome.UNSAFE) -> Film | None:
    """Film an episode from shortly before hand-over to its end; None where nothing can be seen of this task."""
    first, length = first_step(handover), len(trace.actions)
    frames, rate = record(task, trace, first=first, expect=expect)
    if not frames:
        return None
    marked = [_with_bar(_enlarged(frame), first + index, handover, length) for index, frame in enumerate(frames)]
    last = _with_rim(marked[-1])
    return replace(encode([*marked[:-1], *[last] * (LINGER + 1)], rate), poster=_poster(last))


def first_step(handover: int) -> int:
    """The step that a film begins with."""
    return max(0, handover - LEAD)


def record(task: Task, trace: ActionTrace, *, first: int, expect: Outcome | None) -> tuple[list[Picture], int]:
    """The pictures of a trace from its ``first`` situation on, and how many make a second.

    Raises NotReproducible when the trace no longer leads to ``expect``: a film of something else would be a lie.
    """
    _need_no_display()
    env = task.open_env()
    try:
        look = camera(task, env, trace)
        rate = int(env.metadata.get("render_fps") or RATE)
        if look is None:
            return [], rate
        simulator = Simulator(task, env, None)
        frames = [look(simulator) for moment in play(simulator, trace) if moment.depth >= first]
        if expect is not None and simulator.outcome is not expect:
            raise NotReproducible(
                f"task {task.label}: the stored actions ended {simulator.outcome}, not {expect}, after step "
                f"{simulator.depth} of {len(trace)}; the environment is no longer the one that was tested"
            )
        return frames, min(rate, 2 * RATE)
    finally:
        env.close()


def _need_no_display() -> None:
    if not os.environ.get("DISPLAY") and sys.platform == "linux":
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        os.environ.setdefault("MUJOCO_GL", "egl")


def camera(task: Task, env: Any, trace: ActionTrace) -> Callable[[Simulator], Picture] | None:
    """How to see this task: by the environment's own pictures, else as a dot on its map, else not at all."""
    if _renders(env, trace.seed):
        return lambda simulator: _picture(task, simulator.env)
    ground = draw_ground(task, trace) if task.position is not None else None
    if ground is None:
        return None
    return lambda simulator: _dot_on_map(simulator, ground)


def _renders(env: Any, seed: int) -> bool:
    # The mode is set on the finished environment, so that every wrapper of the task stays in place.
    if env.render_mode != "rgb_array":
        if "rgb_array" not in (env.metadata.get("render_modes") or ()):
            return False
        env.unwrapped.render_mode = "rgb_array"
    try:
        env.reset(seed=seed)
        return bool(_as_frame(env.render()).ndim == 3)
    except Exception:  # whatever a missing display, driver or font makes a renderer raise
        return False


def _picture(task: Task, env: Any) -> Picture:
    """What the environment shows; that it did so once does not say that it does so everywhere."""
    try:
        return _as_frame(env.render())
    except Exception as error:
        raise EnvironmentFailure(f"task {task.label}: render() {misdeed(error)}") from error


def _as_frame(picture: Any) -> Picture:
    frame = np.asarray(picture[-1] if isinstance(picture, list) else picture)
    if frame.dtype != np.uint8 or frame.ndim != 3:
        raise TypeError(f"render() returned {frame.dtype} of shape {frame.shape}, not RGB pictures")
    step = -(-frame.shape[1] // WIDEST)
    return np.ascontiguousarray(frame[::step, ::step, :3])


def _enlarged(frame: Picture) -> Picture:
    """A small picture in larger pixels."""
    times = -(-SMALLEST // frame.shape[1])
    return frame.repeat(times, axis=0).repeat(times, axis=1)


def _dot_on_map(simulator: Simulator, ground: Any) -> Picture:
    x, y = ground.to_pixels(simulator.look("position"))
    frame = np.array(ground.image[..., :3], dtype=np.uint8)
    rows, columns = np.ogrid[: frame.shape[0], : frame.shape[1]]
    radius = max(3.0, min(frame.shape[:2]) / 40)
    distance = (rows - y) ** 2 + (columns - x) ** 2
    frame[distance <= (1.4 * radius) ** 2] = 255
    frame[distance <= radius**2] = RED
    return _as_frame(frame)


def _with_bar(frame: Picture, depth: int, handover: int, length: int) -> Picture:
    width = frame.shape[1]
    bar = np.full((BAR, width, 3), 24, np.uint8)
    first = max(0, handover - LEAD)

    def column(at: int) -> int:
        return int(width * (at - first) / max(1, length - first))

    bar[:, : column(min(depth, handover))] = GREY
    bar[:, column(handover) : max(column(handover), column(depth))] = RED
    return np.concatenate([frame, bar])


def _with_rim(frame: Picture) -> Picture:
    """The moment of failing, told by more than a colour: the picture is framed."""
    framed = frame.copy()
    for side in (np.s_[:RIM], np.s_[-BAR - RIM : -BAR], np.s_[:-BAR, :RIM], np.s_[:-BAR, -RIM:]):
        framed[side] = RED
    return framed


def _poster(frame: Picture) -> bytes:
    content = png_bytes(frame)
    return content if len(content) <= LARGEST_POSTER else png_bytes(np.ascontiguousarray(frame[::2, ::2]))


def encode(frames: Sequence[Picture], rate: int) -> Film:
    """An mp4 where ffmpeg is installed, an animated WebP otherwise."""
    try:
        ffmpeg = require_extra("imageio_ffmpeg", "video", "Making a film")
    except MissingExtra:
        return Film(content=webp_bytes(frames, rate), suffix=".webp")
    height, width = (size + size % 2 for size in frames[0].shape[:2])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        writer = ffmpeg.write_frames(
            str(path),
            (width, height),
            fps=rate,
            codec="libx264",
            quality=None,
            macro_block_size=2,
            output_params=["-crf", "28", "-preset", "slow", "-tune", "animation", "-movflags", "+faststart"],
        )
        writer.send(None)
        for frame in frames:
            # H.264 stores colour for blocks of 2 × 2 pixels.
            margin = ((0, height - frame.shape[0]), (0, width - frame.shape[1]), (0, 0))
            writer.send(np.ascontiguousarray(np.pad(frame, margin, mode="edge")))
        writer.close()
        return Film(content=path.read_bytes(), suffix=".mp4")
