"""``tightrope check``: can this environment be put back exactly?"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tightrope.cli.arguments.given import Given, own, takes
from tightrope.cli.arguments.options import SettingOption, TaskArgument, task_options
from tightrope.cli.output.interface import current_interface
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import PASSED
from tightrope.guards.watchdog import limit_here, time_limited
from tightrope.settings import ExecutionConfig

if TYPE_CHECKING:
    from tightrope.simulation import CrossCheck

EXAMPLE = "tightrope check CartPole-v1"
NEEDS_ARGUMENTS = True
A_WHILE = 10.0
"""Seconds in which a slow environment (400 steps a second) can be walked as far as a fast one in a moment."""


@verb
@takes(execution=own(ExecutionConfig, "step_timeout"))
def command(
    task: TaskArgument,
    settings: SettingOption = [],  # noqa: B006 - typer reads the default, nobody changes it
    given: Given = Given(),
) -> int:
    """Check how a task's environment can be saved and restored, and what that costs."""
    from tightrope.simulation import check_task
    from tightrope.tasks import make_task

    interface = current_interface()
    with time_limited(limit_here(given.get("execution", "step_timeout"))):
        built = make_task(task, **task_options(settings))
        conformance = check_task(built, seconds=A_WHILE)
    rows = [
        ("way to save and restore", conformance.method),
        ("exact", "yes"),
        ("µs to save", conformance.save_microseconds if conformance.save_microseconds is not None else "nothing to do"),
        (
            "µs to restore",
            conformance.load_microseconds if conformance.load_microseconds is not None else "as many steps",
        ),
        ("loads into another instance", "yes" if conformance.transferable else "no"),
        (
            "dynamics",
            f"{'deterministic' if conformance.deterministic else 'stochastic'}: {conformance.dynamics_evidence}",
        ),
        ("steps per second", conformance.steps_per_second),
        ("steps compared", conformance.checked_steps),
        ("in other processes", _elsewhere(conformance.cross_check)),
        *((f"{rejection.method}: not exact", rejection.reason) for rejection in conformance.rejected),
        *(("note", note) for note in conformance.notes),
    ]
    interface.table(built.label, ("", ""), rows)
    interface.data(asdict(conformance))
    return PASSED


def _elsewhere(check: CrossCheck) -> str:
    if check.skipped:
        return f"not compared: {check.skipped}"
    return f"{check.steps:,} steps of {check.episodes} walks, twice, the same"
