"""Campaigns that continue from what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.campaign.config import AgentConfig, CampaignConfig

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


def record_step(campaign: Campaign, status: str, suites_run: Mapping[str, str] | None = None) -> None:
    """Write run.json after a single step. What was tested before stays: a second agent or suite adds to a run."""
    earlier = campaign.folder.manifest()
    known = dict(earlier.get("agents", {}))
    config = CampaignConfig.model_validate(earlier["config"])
    before = {name: _called(agent, name) for name, agent in zip(known, config.agents, strict=False)}
    now = {name: _called(agent, name) for name, agent in zip(campaign.agents, campaign.config.agents, strict=True)}
    suites = (*(config.safety.suites if before else ()), *campaign.config.safety.suites)
    safety = campaign.config.safety.model_copy(update={"suites": tuple(dict.fromkeys(suites))})
    merged = campaign.config.model_copy(update={"agents": tuple({**before, **now}.values()), "safety": safety})
    campaign.write_manifest(
        status,
        config=merged.model_dump(mode="json"),
        suites={**earlier.get("suites", {}), **(suites_run or {})},
        agents={**known, **{name: agent.fingerprint for name, agent in campaign.agents.items()}},
    )


def _called(agent: AgentConfig, name: str) -> AgentConfig:
    return agent.model_copy(update={"name": name})
