"""``tightrope risk``: how likely does it fail in use?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.cli.arguments.given import Given, own, takes
from tightrope.cli.arguments.options import (
    AgentOption,
    SeedOption,
    SettingOption,
    TaskArgument,
    TrustOption,
    agents_to_test,
)
from tightrope.cli.output.interface import Interface, current_interface
from tightrope.cli.output.risks import say_reservations
from tightrope.cli.output.verdicts import code_of, print_gates
from tightrope.cli.output.words import counted
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import NOTHING_JUDGED, PASSED
from tightrope.settings import AgentConfig, ExecutionConfig, RiskConfig

if TYPE_CHECKING:
    from tightrope.risk import FailureEstimate

EXAMPLE = "tightrope risk CartPole-v1 --agent agent.onnx --epsilon 0.05 --max-risk 1e-4"
NEEDS_ARGUMENTS = True


@verb
@takes(risk=own(RiskConfig), agents=own(AgentConfig), execution=own(ExecutionConfig, "backend", "workers"))
def command(
    task: TaskArgument,
    agent: AgentOption = [],  # noqa: B006 - typer reads the default, nobody changes it
    settings: SettingOption = [],  # noqa: B006
    trust: TrustOption = False,
    danger: Annotated[
        str | None,
        typer.Option("--danger", metavar="MODULE:NAME", help="Your function danger(transition); default: learned."),
    ] = None,
    learn_from: Annotated[
        Path | None,
        typer.Option(
            "--learn-from",
            metavar="RUN",
            help="A run of this task whose episodes teach the guide; default: random actions.",
        ),
    ] = None,
    given: Given = Given(),
    seed: SeedOption = 0,
) -> int:
    """Estimate the probability that an episode in use ends unsafe, down to one in a million."""
    from tightrope.agents.sources.importing import import_named
    from tightrope.budget import Budget
    from tightrope.risk import estimate_failure
    from tightrope.runs.run import open_run

    interface = current_interface()
    built, agents = agents_to_test("risk", task, settings, agent, given, trust=trust)
    asked, where = given.changed("risk", RiskConfig()), given.changed("execution", ExecutionConfig())
    function = None if danger is None else import_named(danger)
    known = None if learn_from is None else open_run(learn_from, trust=trust)
    with interface.progress() as show:
        found = [
            estimate_failure(
                built,
                each,
                function,
                asked.length,
                Budget(steps=asked.steps),
                seed,
                backend=where.backend,
                workers=where.workers,
                learn_from=known,
                on_progress=show,
            )
            for each in agents.values()
        ]
    watched = "" if asked.length is None else f", watched for {counted(asked.length, 'step')}"
    _print(interface, f"Risk in use, {built.label}{watched}", found)
    interface.data([risk.to_json() for risk in found])
    return _code(interface, found, asked.max_risk)


def _print(interface: Interface, title: str, found: list[FailureEstimate]) -> None:
    rows = [
        (
            risk.agent,
            risk.probability_text(),
            risk.method,
            risk.guide,
            risk.cost,
            "no data" if risk.plain_episodes_needed is None else risk.plain_episodes_needed,
        )
        for risk in found
    ]
    columns = ("agent", "ends unsafe", "found by", "guide", "steps", "plain episodes for the same width")
    interface.table(title, columns, rows)
    for risk in found:
        interface.say(risk.sentence())
        say_reservations(interface, [risk])


def _code(interface: Interface, found: list[FailureEstimate], limit: float | None) -> int:
    from tightrope.runs.gates import risk_gates

    if limit is None:
        return NOTHING_JUDGED if any(risk.probability.high is None for risk in found) else PASSED
    gates = risk_gates(found, limit)
    print_gates(interface, gates)
    return code_of(gates)
