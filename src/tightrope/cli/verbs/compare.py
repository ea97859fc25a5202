"""``tightrope compare``: is the new checkpoint better?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli.arguments.given import Given, own, takes
from tightrope.cli.arguments.options import SettingOption, TrustOption
from tightrope.cli.output.interface import MAY_STAND_ALONE, current_interface
from tightrope.cli.output.verdicts import code_of, print_gates
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import NOTHING_JUDGED, PASSED
from tightrope.errors import UsageError
from tightrope.settings import AgentConfig

EXAMPLE = "tightrope compare run-old run-new   or   tightrope compare old.onnx new.onnx --task CartPole-v1"
NEEDS_ARGUMENTS = True


@verb
@takes(agents=own(AgentConfig))
def command(
    sides: Annotated[
        list[str],
        typer.Argument(
            metavar="A B …",
            help="Runs, or agent files with --task, with --in or beside a run. Each is compared with the first. With a "
            "single run, two of its agents are compared.",
        ),
    ],
    place: Annotated[
        Path | None, typer.Option("--in", metavar="RUN", help="The run whose situations the agent files are tested in.")
    ] = None,
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="TASK", help="The task of the agent files: they are tested in it first."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="With --task: the run folder (default: run).")
    ] = None,
    settings: SettingOption = [],  # noqa: B006 - typer reads the default, nobody changes it
    agent_a: Annotated[str | None, typer.Option("--agent-a", help="Which agent of A, if A is a run.")] = None,
    agent_b: Annotated[str | None, typer.Option("--agent-b", help="Which agent of B, if B is a run.")] = None,
    fail_if_worse: Annotated[
        str | None,
        typer.Option(
            "--fail-if-worse",
            metavar="[in-general]",
            help="Gate: exit with 1 when a suite got worse on these cases beyond doubt (or, with in-general, in "
            "situations like these), with 3 when that cannot be told.",
        ),
    ] = None,
    given: Given = Given(),
    trust: TrustOption = False,
) -> int:
    """Compare agents: in plain episodes, then suite by suite. What got worse comes first.

    Cases that only one of the agents has been tested on are run now for the other. Agent files play with the run's
    settings. With --task the situations are found first, as `tightrope run` does, and the run can be continued.
    """
    from tightrope.cli.arguments.contenders import check_place, contenders_of, home_of, tested_together
    from tightrope.cli.arguments.manner import manner_of, manner_text
    from tightrope.cli.output.comparisons import comparison_data, print_comparison
    from tightrope.runs.no_worse import comparison_gates
    from tightrope.runs.questions.contest import compare_agents

    interface = current_interface()
    general_too = None if fail_if_worse is None else _in_general(fail_if_worse)
    check_place(task, place, settings, out)
    run = None if task else home_of(sides, place, trust=trust)
    manner = manner_of(run, given)
    if (task or run is not None) and (played := manner_text(manner)):
        interface.say(played)
    contenders, examples = (
        (tested_together(sides, task, settings, out or Path("run"), given, trust=trust), ())
        if task
        else contenders_of(sides, run, manner, agent_a, agent_b, trust=trust)
    )
    with interface.progress() as show:
        found = compare_agents(contenders, examples=examples, on_progress=show)
    for comparison in found:
        print_comparison(comparison)
    told = [comparison_data(comparison) for comparison in found]
    interface.data(told[0] if len(told) == 1 else {one.agent_b: each for one, each in zip(found, told, strict=True)})
    if general_too is not None:
        gates = [gate for each in found for gate in comparison_gates(each.suites, each.plain, in_general=general_too)]
        print_gates(interface, gates)
        return code_of(gates)
    judged = any(each.difference.value is not None for comparison in found for each in comparison.suites.values())
    return PASSED if judged else NOTHING_JUDGED


def _in_general(value: str) -> bool:
    if value not in MAY_STAND_ALONE["--fail-if-worse"]:
        raise UsageError(f"--fail-if-worse takes in-general or nothing, not {value!r}")
    return value == "in-general"
