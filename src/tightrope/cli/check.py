"""``tightrope check``: can this environment be put back exactly?"""

from __future__ import annotations

from tightrope.cli.interface import PASSED, current_interface, verb
from tightrope.cli.options import LevelOption, RomOption, SettingOption, TaskArgument, task_options
from tightrope.simulation import check_task
from tightrope.tasks import make_task

EXAMPLE = "tightrope check CartPole-v1"
NEEDS_ARGUMENTS = True


@verb
def command(
    task: TaskArgument,
    settings: SettingOption = [],  # noqa: B006 - typer reads the default, nobody changes it
    level: LevelOption = None,
    rom: RomOption = None,
) -> int:
    """Check how a task's environment can be saved and restored, and what that costs."""
    interface = current_interface()
    built = make_task(task, **task_options(settings, level, rom))
    conformance = check_task(built)
    interface.table(f"{built.label}", ("", ""), conformance.rows())
    interface.data(conformance.to_json())
    return PASSED
