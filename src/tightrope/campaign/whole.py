"""The whole job: all four steps in order, then the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tightrope.campaign.assembly import assemble
from tightrope.campaign.campaign import CONTROL, Campaign
from tightrope.campaign.config import NOT_IN_IDENTITY, CampaignConfig
from tightrope.campaign.folder import RunFolder
from tightrope.campaign.gates import Gate, safety_gates
from tightrope.errors import UsageError
from tightrope.progress import Progress, ProgressCallback
from tightrope.report import write_report
from tightrope.safety import SafetyResult


@dataclass(frozen=True, kw_only=True)
class WholeRun:
    """What a whole run found, in short; the rest is in its folder."""

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
    """Run what is not finished yet of a campaign in its folder, and write the report."""
    folder = RunFolder.create_or_open(out)
    with folder.locked():
        _refuse_another_configuration(folder, config)
        campaign = Campaign(config, folder, on_progress=on_progress)
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
    if not folder.manifest_path.exists():
        return
    known = CampaignConfig.model_validate(folder.manifest()["config"])
    if known.identity == config.identity:
        return
    before, after = _flat(known.model_dump(mode="json")), _flat(config.model_dump(mode="json"))
    changed = [
        f"{name} was {before.get(name)!r}, now {after.get(name)!r}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name) and not name.startswith(NOT_IN_IDENTITY)
    ]
    raise UsageError(
        f"{folder.path} holds a run with other settings ({'; '.join(changed)}). Give the same settings to continue it, "
        f"or another folder with --out"
    )


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        parts = [_flat(part, f"{name}.{key}" if name else str(key)) for key, part in value.items()]
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        parts = [_flat(part, f"{name}.{index}") for index, part in enumerate(value)]
    else:
        return {name: value}
    return {key: entry for part in parts for key, entry in part.items()}


def suite_ids(safety: Mapping[str, Mapping[str, SafetyResult]]) -> dict[str, str]:
    """The hash of each suite by its short name."""
    return {name: next(iter(row.values())).suite.id for name, row in safety.items() if row}


def _plain(result: SafetyResult) -> dict[str, Any]:
    estimate = result.fail_frequency
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}
