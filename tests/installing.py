"""Packages that are installed for one test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tightrope import extensions


def install(site: Path, package: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """What an installer leaves of a package: its metadata and entry points, in a folder on the path."""
    info = site / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    groups = (
        "\n".join([f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())])
        for group, entries in entry_points.items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups) + "\n")


def forget_extensions() -> None:
    """Look anew at what is installed."""
    extensions.extensions.cache_clear()
    extensions.loaded.cache_clear()
