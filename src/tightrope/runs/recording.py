"""run.json of a run that grows step by step."""

from __future__ import annotations

from collections.abc import Mapping

from tightrope.runs.campaign import Campaign, fuzzing_file
from tightrope.runs.config import AgentConfig, CampaignConfig


def record_search(campaign: Campaign, status: str, command: str) -> None:
    """Write run.json around a search, which may be the first step of a run or a new one under all others."""
    if campaign.folder.manifest_path.exists():
        record_step(campaign, status)
    else:
        campaign.write_manifest(status, command=command)


def record_step(campaign: Campaign, status: str, suites_run: Mapping[str, str] | None = None) -> None:
    """Write run.json after a single step. What was tested before stays: a second agent or suite adds to a run."""
    earlier = campaign.folder.manifest()
    known = dict(earlier.get("agents", {}))
    config = CampaignConfig.model_validate(earlier["config"])
    before = {name: _called(agent, name) for name, agent in zip(known, config.agents, strict=False)}
    now = {name: _called(agent, name) for name, agent in zip(campaign.agents, campaign.config.agents, strict=True)}
    suites = (*(config.safety.suites if before else ()), *campaign.config.safety.suites)
    safety = campaign.config.safety.model_copy(update={"suites": tuple(dict.fromkeys(suites))})
    if safety.max_fail is None:
        # A step without a gate of its own does not lift the run's.
        safety = safety.model_copy(update={"max_fail": config.safety.max_fail, "gate_on": config.safety.gate_on})
    action_sets = (
        *(campaign.known_action_sets if before else ()),
        *(campaign.action_sets if now or not before else ()),
    )
    merged = campaign.config.model_copy(update={"agents": tuple({**before, **now}.values()), "safety": safety})
    campaign.write_manifest(
        status,
        config=merged.model_dump(mode="json"),
        action_sets=tuple(dict.fromkeys(action_sets)),
        fuzzing=list(dict.fromkeys(map(fuzzing_file, action_sets))),
        suites={**earlier.get("suites", {}), **(suites_run or {})},
        agents={**known, **{name: agent.fingerprint for name, agent in campaign.agents.items()}},
    )


def _called(agent: AgentConfig, name: str) -> AgentConfig:
    return agent.model_copy(update={"name": name})
