"""The arms of Super Mario Bros. 1-1: the shipped late agent goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tightrope.training import Situation
from tightrope_mario.training.recipe import PRESETS, TrainingConfig
from tightrope_mario.training.starts import WATCHED, Starts
from tightrope_mario.training.train import train

SHIPPED = Path(__file__).parent.parent / "agents" / "mario" / "1-1-dense-basic-late.onnx"
# Nine trainings share a machine, so each has fewer games at a time than the preset, and as many updates for each step.
GOING_ON = replace(PRESETS["continue"], workers=2, updates=2, target_every=500, memory_ticks=9000)


def go_on(
    subject: Any, folder: Path, base: Path | None, situations: Sequence[Situation], arm: Any, seed: int, steps: int
) -> Path:
    """Continue the shipped agent; the agent itself where there is none to go on from."""
    if base is None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "agent.onnx").write_bytes(SHIPPED.read_bytes())
        return folder / "agent.onnx"
    starts = None
    if situations:
        names = subject.task().action_names
        starts = Starts(
            situations=tuple(situations), actions=names, share=arm.share, weights=arm.weights, watched=WATCHED
        )
    described = train(
        TrainingConfig(
            folder=folder,
            actions="basic",
            recipe=GOING_ON,
            max_steps=steps,
            stages=(),
            seed=seed,
            agent=base,
            starts=starts,
        )
    )
    return folder / str(described["stages"][-1]["file"])
