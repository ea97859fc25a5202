"""Campaigns that continue from what is stored."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.campaign.config import CampaignConfig

if TYPE_CHECKING:
    from tightrope.campaign.campaign import Campaign
    from tightrope.campaign.folder import RunFolder
    from tightrope.progress import ProgressCallback


def stored_config(folder: RunFolder) -> CampaignConfig:
    """The configuration of a run."""
    return CampaignConfig.model_validate(folder.manifest()["config"])


def campaign_of(folder: RunFolder, *, on_progress: ProgressCallback | None = None, **changes: Any) -> Campaign:
    """The campaign of a run, with some settings changed."""
    from tightrope.campaign.campaign import Campaign

    return Campaign(stored_config(folder).model_copy(update=changes), folder, on_progress=on_progress)


def campaign_of_suite(path: Path, folder: Path, **changes: Any) -> Campaign:
    """A campaign that runs nothing but one suite file."""
    from tightrope.campaign.folder import RunFolder
    from tightrope.campaign.suitefile import SuiteCampaign
    from tightrope.safety import load_suite
    from tightrope.tasks import task_from_label

    suite = load_suite(path)
    task = task_from_label(suite.task)
    config = CampaignConfig(task=task.name, options=dict(task.options)).model_copy(update=changes)
    return SuiteCampaign(config, RunFolder.create_or_open(folder), suite)
