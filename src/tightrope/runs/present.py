"""Which results in a run folder belong to its agents, its reference and its fuzz traces as they are now.

Steps can be run one by one, so a folder may hold the result of a suite that an agent was tested with before its file
was trained further, beside one that it was tested with since. Only the latter says anything about the agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tightrope.fuzzing import FuzzResult
from tightrope.runs.campaign import Campaign, traces_id
from tightrope.runs.steps import file_name, step_files

Steps = Mapping[str, Mapping[str, Any]]


def present_steps(campaign: Campaign) -> dict[str, dict[str, Any]]:
    """The files of the finished steps, without those that were made with something else than what is there now."""
    steps = step_files(campaign.folder)
    outdated = outdated_steps(campaign, steps)
    return {path: step for path, step in steps.items() if path not in outdated}


def outdated_steps(campaign: Campaign, steps: Steps) -> dict[str, str]:
    """The paths of the steps that say nothing about the run any more, each with what has changed since."""
    return dict(_outdated(campaign, steps))


def _outdated(campaign: Campaign, steps: Steps) -> Iterator[tuple[str, str]]:
    reference, boundary, known = campaign.reference_id, campaign.boundary_id, campaign.known_agents
    replaced = campaign.folder.manifest().get("replaced_agents", {}) if campaign.folder.manifest_path.exists() else {}
    agents = {file_name(name): name for name in known}
    bred = []
    for path, step in steps.items():
        made_with = step.get("made_with", {})
        agent = agents.get(path.split("/")[1].removesuffix(".json")) if path[0] in "24" else None
        if made_with.get("reference", reference) != reference:
            yield path, "the reference"
        elif made_with.get("boundary", boundary) != boundary:
            yield path, "the boundary states"
        elif agent is not None and _tested(step, replaced.get(agent), known[agent]) != known[agent]:
            yield path, f"agent {agent}"
        elif path[0] == "3":
            bred.append(traces_id(FuzzResult.from_json(step["content"]).fittest))
        elif "traces" in made_with and made_with["traces"] not in bred:
            yield path, "the fuzz traces"


def _tested(step: Mapping[str, Any], replaced: Any, present: str) -> str | None:
    """The fingerprint of the agent that a step tested; a file that does not say is believed if there was only one."""
    told = step.get("made_with", {}).get("agent") or step["content"].get("fingerprint")
    return told or (None if replaced else present)
