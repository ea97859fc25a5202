"""``tightrope quantise``: an agent's network in 8 bits, and how often it still does the same."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli.arguments.options import SeedOption, SettingOption, TaskArgument, task_options
from tightrope.cli.output.interface import current_interface
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import PASSED

EXAMPLE = "tightrope quantise ALE/Freeway-v5 --agent agent.onnx --out agent-int8.onnx"
NEEDS_ARGUMENTS = True


@verb
def command(
    task: TaskArgument,
    agent: Annotated[str, typer.Option("--agent", "-a", metavar="FILE", help="An .onnx file.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The .onnx file to write.")],
    settings: SettingOption = [],  # noqa: B006 - typer reads the default, nobody changes it
    seed: SeedOption = 0,
) -> int:
    """Write an agent's network in 8 bits: answers cost less, and some are others, so it is another agent to test."""
    from tightrope.evaluation import quantise_agent
    from tightrope.tasks import make_task

    interface = current_interface()
    with interface.progress() as show:
        found = quantise_agent(make_task(task, **task_options(settings)), agent, out, seed, on_progress=show)
    interface.say(f"{found.file}: {found.sentence()}")
    interface.say(
        f"An answer in a batch of 32 costs {found.microseconds_after:.0f} µs of processor time here instead of "
        f"{found.microseconds_before:.0f} ({found.times_faster:.2g} times less)."
    )
    options = "".join(f" --set {shlex.quote(setting)}" for setting in settings)
    interface.remark(
        f"It is another agent; whether it is worse: tightrope compare {agent} {out} --task {task}{options}"
    )
    interface.data(
        {
            "file": found.file,
            "equal_actions": found.equal_actions.to_json(),
            "observations": found.observations,
            "microseconds_before": found.microseconds_before,
            "microseconds_after": found.microseconds_after,
        }
    )
    return PASSED
