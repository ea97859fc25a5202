"""The whole job: all four steps in order, then the report."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tightrope.display import Shown
from tightrope.errors import UsageError
from tightrope.progress import Progress, ProgressCallback
from tightrope.report import write_report
from tightrope.runs.assembly import assemble
from tightrope.runs.campaign import CONTROL, Campaign
from tightrope.runs.config import NOT_IN_IDENTITY, CampaignConfig
from tightrope.runs.folder import RunFolder
from tightrope.runs.gates import Gate, safety_gates
from tightrope.safety import SafetyResult

LOG = logging.getLogger("tightrope")


@dataclass(frozen=True, kw_only=True, repr=False)
class WholeRun(Shown):
    """What a whole run found, in short; the rest is in its folder."""

    _shown = ("folder", "report", "found_reference", "gates")

    folder: Path
    report: Path
    found_reference: bool
    safety: Mapping[str, Mapping[str, SafetyResult]] = field(default_factory=dict)
    """Suite → agent → result."""
    gates: tuple[Gate, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values for machines."""
        return {
            "folder": str(self.folder),
            "report": str(self.report),
            "found_reference": self.found_reference,
            "fail_frequency": {
                suite: {agent: _plain(result) for agent, result in row.items()} for suite, row in self.safety.items()
            },
            "gates": [vars(gate) for gate in self.gates],
        }


def run_campaign(
    config: CampaignConfig, out: Path | str, *, on_progress: ProgressCallback | None = None, command: str = ""
) -> WholeRun:
    """Run what is not finished yet of a campaign in its folder, and write the report.

    Args:
        config: What to do; ``load_config`` reads it from a file.
        out: The run folder, new or begun.
        on_progress: Told how far the work has come.
        command: How the run was asked for, for its report.
    """
    folder = RunFolder.create_or_open(out)
    with folder.locked():
        _refuse_another_configuration(folder, config)
        campaign = Campaign(config, folder, on_progress=on_progress)
        _say_what_is_left_out(campaign)
        campaign.write_manifest("running", **({"command": command} if command else {}))
        found = bool(campaign.search_step()["found"])
        safety = _test(campaign) if found else {}
        gates = safety_gates(config.safety, safety, CONTROL)
        report = write_campaign_report(campaign)
        campaign.write_manifest("finished", suites=suite_ids(safety))
    return WholeRun(folder=folder.path, report=report, found_reference=found, safety=safety, gates=tuple(gates))


def write_campaign_report(campaign: Campaign) -> Path:
    """Make the report of what a campaign's folder holds."""
    if campaign.on_progress is not None:
        campaign.on_progress(Progress("report", 0, 1))
    with campaign.engine(agents={}) as engine:
        results = assemble([(campaign, engine)])
    path = write_report(
        results, campaign.folder.report_path.parent, tasks=[campaign.task], videos=campaign.config.report.videos
    )
    if campaign.on_progress is not None:
        campaign.on_progress(Progress("report", 1, 1))
    return path


def _test(campaign: Campaign) -> dict[str, dict[str, SafetyResult]]:
    with campaign.engine() as engine:
        safety = campaign.safety_step(engine)
        for actions in campaign.action_sets:
            campaign.fuzzing_step(engine, actions)
        campaign.performance_step(engine)
        campaign.write_manifest("tested")
    return safety


def _refuse_another_configuration(folder: RunFolder, config: CampaignConfig) -> None:
    """Agents and suites may join or leave, since each has results of its own; all else, and what an agent is, stays."""
    if not folder.manifest_path.exists():
        return
    before, after = _flat(CampaignConfig.model_validate(folder.manifest()["config"])), _flat(config)
    stayed = _agent_names(before) & _agent_names(after)
    changed = [
        f"{'.'.join(name)} was {before.get(name)!r}, now {after.get(name)!r}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
        and not ".".join(name).startswith(NOT_IN_IDENTITY)
        and name != ("safety", "suites")
        and (name[0] != "agents" or name[1] in stayed)
    ]
    if changed:
        raise UsageError(
            f"{folder.path} holds a run with other settings ({'; '.join(changed)}). Give the same settings to continue "
            f"it, or another folder with --out; agents can be added to it under other names, and suites"
        )


def _say_what_is_left_out(campaign: Campaign) -> None:
    """Gates and a report without an agent or a suite must not be taken for those with them."""
    if not campaign.folder.manifest_path.exists():
        return
    manifest = campaign.folder.manifest()
    gone = [f"agent {name}" for name in manifest.get("agents", {}) if name not in campaign.agents]
    suites = manifest["config"]["safety"]["suites"]
    gone += [f"suite {suite}" for suite in suites if suite not in campaign.config.safety.suites]
    if gone:
        LOG.warning("not named now, so not in the gates and the report, though its results stay: %s", ", ".join(gone))


Name: TypeAlias = tuple[str, ...]


def _flat(config: CampaignConfig) -> dict[Name, Any]:
    """Every setting by its path; agents are told by their names, not by their order."""
    dumped = config.model_dump(mode="json")
    dumped["agents"] = {agent["name"] or agent["source"]: agent for agent in dumped["agents"]}
    return dict(_leaves(dumped, ()))


def _leaves(value: Any, name: Name) -> Iterator[tuple[Name, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, (*name, str(key)))
    else:
        yield name, value


def _agent_names(settings: Mapping[Name, Any]) -> set[str]:
    return {name[1] for name in settings if name[0] == "agents" and len(name) > 1}


def suite_ids(safety: Mapping[str, Mapping[str, SafetyResult]]) -> dict[str, str]:
    """The hash of each suite by its short name."""
    return {name: next(iter(row.values())).suite.id for name, row in safety.items() if row}


def _plain(result: SafetyResult) -> dict[str, Any]:
    """On these cases, and beside it in situations like these."""
    return {**result.fail_frequency.to_json(), "in_general": result.fail_frequency_in_general.to_json()}
