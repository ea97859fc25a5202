"""``tightrope search``: step 1."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.interface import Interface, current_interface, verb
from tightrope.cli.options import (
    OutOption,
    SeedOption,
    SettingOption,
    TaskArgument,
    task_options,
)
from tightrope.cli.stored import stored_config
from tightrope.cli.supervision import NOTHING_JUDGED, PASSED
from tightrope.errors import UsageError
from tightrope.outcome import StopReason
from tightrope.runs.config import CampaignConfig, SearchConfig

if TYPE_CHECKING:
    from tightrope.runs.campaign import Campaign
    from tightrope.runs.folder import RunFolder

EXAMPLE = "tightrope search FrozenLake-v1 --set is_slippery=false --out run/"
NEEDS_ARGUMENTS = True


@verb
def command(
    task: TaskArgument,
    out: OutOption = Path("run"),
    settings: SettingOption = [],  # noqa: B006 - typer reads the default, nobody changes it
    method: Annotated[
        str, typer.Option("--method", help="auto, dfs, archive, demonstration, or what a package brings.")
    ] = "auto",
    budget_seconds: Annotated[
        float, typer.Option("--budget-seconds", help="Stop after so long; 0: no limit.", min=0)
    ] = 120.0,
    budget_steps: Annotated[int | None, typer.Option("--budget-steps", help="Stop after so many steps.", min=0)] = None,
    repetitions: Annotated[int | None, typer.Option("--repetitions", help="Samples of each action.", min=1)] = None,
    demonstration: Annotated[
        Path | None, typer.Option("--demonstration", help="A trace that reaches the goal.")
    ] = None,
    probe_steps: Annotated[int, typer.Option("--probe-steps", help="Steps for proving boundaries.", min=0)] = 20_000,
    seed: SeedOption = 0,
) -> int:
    """Step 1: find a way to solve the task, and the boundary states on it."""
    from tightrope.runs.campaign import Campaign
    from tightrope.runs.folder import RunFolder
    from tightrope.runs.recording import record_search

    interface = current_interface()
    changes: dict[str, Any] = {
        "options": task_options(settings),
        "seed": seed,
        "search": SearchConfig.model_validate(
            {
                "method": "demonstration" if demonstration is not None else method,
                "seconds": budget_seconds or None,
                "steps": budget_steps,
                "repetitions": repetitions,
                "demonstration": demonstration,
                "probe_steps": probe_steps,
            }
        ),
    }
    folder = RunFolder.create_or_open(out)
    with folder.locked(), interface.progress() as show:
        config = _beside_what_is_there(folder, task, changes["options"]).model_copy(update=changes)
        campaign = Campaign(config, folder, on_progress=show)
        record_search(campaign, "searching", interface.command)
        summary = campaign.search_step()
        record_search(campaign, "searched", interface.command)
    return _report(interface, campaign, summary)


def _beside_what_is_there(folder: RunFolder, task: str, options: dict[str, Any]) -> CampaignConfig:
    """The settings of the run in the folder, if there is one, whose agents and gate outlast another search."""
    if not folder.manifest_path.exists():
        return CampaignConfig(task=task)
    stored = stored_config(folder)
    if (stored.task, stored.options) != (task, options):
        raise UsageError(
            f"{folder.path} holds a run of {stored.task} with the options {stored.options}, not of {task} with "
            f"{options}; choose another folder with --out"
        )
    return stored.model_copy(update={"agents": ()})


def _report(interface: Interface, campaign: Campaign, summary: dict[str, Any]) -> int:
    """Print what the search found and what comes next; returns the exit code."""
    stats = summary["stats"]
    row = [summary["method"], summary["stop_reason"], None, None, stats["steps"], stats["seconds"]]
    if summary["found"]:
        reference = campaign.reference()
        row[2:4] = [len(reference), f"{reference.proven} / {len(reference.boundary_states)}"]
    columns = ("method", "ended", "length", "boundary states (proven / all)", "steps", "seconds")
    interface.table(campaign.task.label, columns, [row])
    interface.data(summary)
    if not summary["found"]:
        interface.say(f"No reference was found; {_advice(summary, campaign.config.search)}.")
        return NOTHING_JUDGED
    folder = campaign.folder.path
    interface.remark(f"Written to {folder}. Next: tightrope safety {folder} --agent YOUR_AGENT")
    return PASSED


def _advice(summary: dict[str, Any], config: SearchConfig) -> str:
    """What may help a search that ended as it did."""
    helps = ["a --demonstration"]
    if summary["method"] != "archive":
        helps.insert(0, "--method archive")
    if summary["stop_reason"] == StopReason.BUDGET_SPENT:
        in_steps = config.steps is not None and summary["stats"]["steps"] >= config.steps
        helps.insert(0, f"a larger {'--budget-steps' if in_steps else '--budget-seconds'}")
    return f"{', '.join(helps[:-1])}{' or ' if len(helps) > 1 else ''}{helps[-1]} may help"
