"""Settings of runs that are continued."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tightrope.runs.configuration.config import CampaignConfig


def stored_config(path: Path, *, trust: bool, agents: bool = False, cluster: bool = False) -> CampaignConfig:
    """The settings of a run, which may name code to import only if they are trusted.

    Its ``agents`` and its ``cluster`` only count if they are used.
    """
    from tightrope.runs.storage.folder import RunFolder
    from tightrope.runs.storage.manifest import read_manifest
    from tightrope.runs.trust import require_trust

    folder = RunFolder.open(path)
    config = read_manifest(folder.manifest_path).config
    named, place = config.agents if agents else (), config.execution.cluster if cluster else None
    require_trust(folder.manifest_path, config.task, named, cluster=place, trust=trust)
    return config
