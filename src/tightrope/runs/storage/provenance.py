"""What is needed to believe a result: versions, machine, hashes."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

PACKAGES = (
    "tightrope", "gymnasium", "numpy", "scipy", "onnxruntime", "torch", "stable-baselines3", "sb3-contrib",
    "stable-retro", "ale-py", "mujoco", "minigrid", "highway-env", "box2d", "ray",
)  # fmt: skip

LATER = ", later "


def versions() -> dict[str, str]:
    """Versions of Python and of every package that can change a result, where installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def seen_versions(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """The versions that a run was made with, one after the other where they changed: its steps are not made again."""
    changed = {
        package: f"{before[package]}{LATER}{found}"
        for package, found in now.items()
        if before.get(package, found).rpartition(LATER)[2] != found
    }
    return {**now, **before, **changed}


def machine() -> dict[str, str]:
    """The machine, as far as it explains durations; it does not change results."""
    return {"system": platform.platform(), "processor": platform.machine(), "cores": str(os.cpu_count() or 1)}
