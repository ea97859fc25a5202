"""``tightrope search``: step 1."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tightrope.cli.arguments.given import Given, own, takes
from tightrope.cli.arguments.options import (
    OutOption,
    SeedOption,
    SettingOption,
    TaskArgument,
    execution_config,
    task_options,
)
from tightrope.cli.arguments.stored import stored_config
from tightrope.cli.output.interface import Interface, current_interface
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import NOTHING_JUDGED, PASSED
from tightrope.outcome import StopReason
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.settings import ExecutionConfig, SearchConfig

if TYPE_CHECKING:
    from tightrope.references import SearchResult
    from tightrope.runs.steps.pipeline import Pipeline

EXAMPLE = "tightrope search FrozenLake-v1 --set is_slippery=false --out run/"
NEEDS_ARGUMENTS = True


@verb
@takes(search=own(SearchConfig), execution=own(ExecutionConfig, "step_timeout"))
def command(
    task: TaskArgument,
    out: OutOption = Path("run"),
    settings: SettingOption = [],  # noqa: B006 - typer reads the default, nobody changes it
    given: Given = Given(),
    seed: SeedOption = 0,
) -> int:
    """Step 1: find a way to solve the task, and the boundary states on it."""
    from tightrope.runs.campaign import working_on

    interface = current_interface()
    stored = _beside_what_is_there(out, task)
    changes = {
        "options": task_options(settings),
        "seed": seed,
        "search": _asked(given),
        "execution": execution_config(given, stored.execution),
    }
    config = stored.model_copy(update=changes)
    # The command that began a run is the one to repeat it by.
    command = "" if (out / "run.json").exists() else interface.command
    with (
        interface.progress() as show,
        working_on(out, config, command=command, joins=True, on_progress=show) as pipeline,
    ):
        result = pipeline.search()
        pipeline.run.save(status="searched")
    return _report(interface, pipeline, result)


def _beside_what_is_there(out: Path, task: str) -> CampaignConfig:
    """The settings of the run in the folder, if there is one, whose agents and gate outlast another search."""
    if not (out / "run.json").exists():
        return CampaignConfig(task=task)
    # The task is the one that was just named, and no agent of the run is loaded.
    return stored_config(out, trust=True).model_copy(update={"task": task, "agents": ()})


def _report(interface: Interface, pipeline: Pipeline, result: SearchResult) -> int:
    """Print what the search found and what comes next; returns the exit code."""
    reference, stats, folder = result.reference, result.stats, pipeline.run.path
    row = [result.method, str(result.stop_reason), None, None, stats.steps, stats.seconds]
    if reference is not None:
        row[2:4] = [len(reference), f"{len(reference.boundary_states)}, {reference.proven} proven"]
    columns = ("method", "ended", "length", "boundary states", "steps", "seconds")
    interface.table(pipeline.run.task_label, columns, [row])
    interface.data(
        {
            "found": reference is not None,
            "method": result.method,
            "stop_reason": str(result.stop_reason),
            "stats": asdict(stats),
        }
    )
    if reference is None:
        interface.say(f"No reference was found; {_advice(result, pipeline.config.search)}.")
        if result.stop_reason is StopReason.EXHAUSTED:
            interface.say(
                "Every situation that the task's state_key tells apart was tried. If it leaves out something that "
                "decides, such as the time or what is not in sight, give the task a state_key that has it."
            )
        return NOTHING_JUDGED
    if not reference.boundary_states:
        interface.say(
            "No action on this way was found to lead to harm, so suites would have no cases. Larger --probe-steps, "
            "more --references or --method archive may find some."
        )
    interface.remark(f"Written to {folder}. Next: tightrope safety {folder} --agent YOUR_AGENT")
    return PASSED


def _asked(given: Given) -> SearchConfig:
    """The settings of this search, none of which come from an earlier one."""
    # One reference, unless more are asked for: the others are mostly runs of agents, and here there are none.
    search = given.changed("search", SearchConfig(references=1))
    told = given.values.get("search", {})
    if "seconds" in told or "steps" in told:
        # A budget that is given takes the place of the default, and not a part of it.
        search = search.changed(seconds=told.get("seconds"), steps=told.get("steps"))
    return search if search.demonstration is None else search.changed(method="demonstration")


def _advice(result: SearchResult, config: SearchConfig) -> str:
    """What may help a search that ended as it did."""
    helps = ["a --demonstration"]
    if result.method != "archive":
        helps.insert(0, "--method archive")
    if result.stop_reason is StopReason.BUDGET_SPENT:
        in_steps = config.steps is not None and result.stats.steps >= config.steps
        helps.insert(0, f"a larger {'--budget-steps' if in_steps else '--budget-seconds'}")
    return f"{', '.join(helps[:-1])}{' or ' if len(helps) > 1 else ''}{helps[-1]} may help"
