"""What is needed to believe a result: versions, machine, hashes."""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.tasks.task import Task

LOG = logging.getLogger("tightrope")

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


def describe_task(task: Task) -> dict[str, Any]:
    """The task, its options and the hashes of the files it depends on."""
    return {
        "name": task.name,
        "label": task.label,
        "options": {key: str(value) for key, value in task.options.items()},
        "fingerprint": dict(task.fingerprint),
    }


def describe_agents(agents: Mapping[str, Agent]) -> dict[str, str]:
    """The fingerprint of each agent by name."""
    return {name: agent.fingerprint for name, agent in agents.items()}


def replaced_agents(manifest: Mapping[str, Any], agents: Mapping[str, str]) -> dict[str, list[str]]:
    """The fingerprints that agents of these names had before in a run, oldest first; says so of each that is new."""
    known: Mapping[str, str] = manifest.get("agents", {})
    replaced = {name: list(earlier) for name, earlier in manifest.get("replaced_agents", {}).items()}
    for name, fingerprint in agents.items():
        if known.get(name, fingerprint) == fingerprint:
            continue
        LOG.warning(
            "agent %r is not the one this run tested before (its file or its options changed): it is tested again, and "
            "what that finds replaces its earlier results",
            name,
        )
        replaced.setdefault(name, []).append(known[name])
    return replaced
