"""Campaigns that continue from what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tightrope.runs.config import CampaignConfig

if TYPE_CHECKING:
    from tightrope.progress import ProgressCallback
    from tightrope.runs.campaign import Campaign
    from tightrope.runs.folder import RunFolder


def stored_config(folder: RunFolder) -> CampaignConfig:
    """The configuration of a run."""
    return CampaignConfig.model_validate(folder.manifest()["config"])


def campaign_of(
    folder: RunFolder, *, trust: bool, on_progress: ProgressCallback | None = None, **changes: Any
) -> Campaign:
    """The campaign of a run, with some settings changed; agents that the run names are not loaded by this alone."""
    from tightrope.runs.campaign import Campaign
    from tightrope.runs.trust import require_trust

    stored = stored_config(folder)
    config = stored.model_copy(update=changes)
    # Without a say in where the work is done there is none to do.
    cluster = config.execution.cluster if "execution" in changes else None
    named_by_file = cluster if cluster == stored.execution.ray_address else None
    require_trust(folder.manifest_path, stored.task, cluster=named_by_file, trust=trust)
    return Campaign(config, folder, on_progress=on_progress)
