"""``tightrope init``: a commented campaign file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli.arguments.options import SettingOption, TaskArgument, task_options
from tightrope.cli.output.interface import current_interface
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import PASSED
from tightrope.errors import UsageError
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.settings import AgentConfig

EXAMPLE = "tightrope init FrozenLake-v1 --file campaign.yaml"
NEEDS_ARGUMENTS = True


@verb
def command(
    task: TaskArgument,
    file: Annotated[Path, typer.Option("--file", "-f", help="Where to write it.")] = Path("campaign.yaml"),
    settings: SettingOption = [],  # noqa: B006 - typer reads the default, nobody changes it
    schema: Annotated[Path | None, typer.Option("--schema", help="Also write the JSON Schema here.")] = None,
) -> int:
    """Write a campaign file with every setting and what it means."""
    from tightrope.runs.configuration.configfile import commented_example, json_schema
    from tightrope.tasks import make_task

    options = task_options(settings)
    make_task(task, **options)
    if file.exists():
        raise UsageError(f"{file} exists; name another file with --file, or remove it")
    config = CampaignConfig(task=task, options=options, agents=(AgentConfig(source="agent.onnx"),))
    file.write_text(commented_example(config), encoding="utf-8")
    if schema is not None:
        schema.write_text(json_schema(), encoding="utf-8")
    interface = current_interface()
    interface.say(f"Wrote {file}. Name your agent in it, then: tightrope run {file}")
    interface.data({"file": str(file), "schema": None if schema is None else str(schema)})
    return PASSED
