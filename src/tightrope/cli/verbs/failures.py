"""``tightrope failures``: what little disturbance makes it fail?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from tightrope.cli.output.interface import current_interface
from tightrope.cli.output.words import counted
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import NOTHING_JUDGED, PASSED
from tightrope.settings import AgentConfig, ExecutionConfig, FailuresConfig

if TYPE_CHECKING:
    from tightrope.failures import FailureSearch

EXAMPLE = "tightrope failures CartPole-v1 --agent agent.onnx --steps 20000 --traces failures.json"
NEEDS_ARGUMENTS = True
MOST_SHOWN = 10
WORDS = {True: "yes", False: "no: lost in the disturbance", None: "no survivor found"}
NOT_LOOKED = "not examined: out of steps"


@verb
@takes(failures=own(FailuresConfig), agents=own(AgentConfig), execution=own(ExecutionConfig, "backend", "workers"))
def command(
    task: TaskArgument,
    agent: AgentOption = [],  # noqa: B006 - typer reads the default, nobody changes it
    settings: SettingOption = [],  # noqa: B006
    trust: TrustOption = False,
    traces: Annotated[
        Path | None,
        typer.Option("--traces", metavar="FILE", help="Write the failing episodes to this file, as action traces."),
    ] = None,
    given: Given = Given(),
    seed: SeedOption = 0,
) -> int:
    """Look for failures near the agent's own runs: small disturbances after which it fails, the most likely first.

    Where plain episodes show more new causes for their steps, they get the steps: --method auto.
    """
    from tightrope.budget import Budget
    from tightrope.failures import search_failures
    from tightrope.tracefiles import write_traces

    interface = current_interface()
    built, agents = agents_to_test("failures", task, settings, agent, given, trust=trust)
    asked, execution = given.changed("failures", FailuresConfig()), given.changed("execution", ExecutionConfig())
    with interface.progress() as show:
        found = [
            search_failures(
                built,
                each,
                Budget(steps=asked.steps),
                seed,
                method=asked.method,
                longest=asked.longest,
                noise=asked.noise,
                reset_seeds=asked.reset_seeds,
                length=asked.length,
                judging=asked.judging,
                backend=execution.backend,
                workers=execution.workers,
                on_progress=show,
            )
            for each in agents.values()
        ]
    for result in found:
        _print(result)
    interface.data([_told(result) for result in found])
    if traces is not None:
        write_traces(traces, [failure.trace for result in found for failure in result.failures])
    return NOTHING_JUDGED if any(not result.judged for result in found) else PASSED


def _print(result: FailureSearch) -> None:
    interface = current_interface()
    rows = [
        (
            str(failure.disturbance),
            f"{failure.disturbance.total[0]:.1f}",
            len(failure.trace),
            "no data" if failure.moment is None else failure.moment.depth,
            WORDS[failure.avoidable] if failure.looked else NOT_LOOKED,
            "no data" if failure.witness is None or failure.moment is None else failure.moment.who,
        )
        for failure in result.failures[:MOST_SHOWN]
    ]
    columns = ("disturbance", "log-likelihood", "fails at step", "lost at step", "avoidable", "who survives")
    interface.table(f"Failures of {result.agent} on {result.task}, the most likely first", columns, rows)
    unseen = sum(not failure.looked for failure in result.failures)
    interface.say(
        f"{counted(len(result.failures), 'different failure')} in {counted(result.episodes, 'episode')} and "
        f"{counted(result.steps, 'step')} ({result.judging_steps:,} for judging), "
        f"{len(result.avoidable)} of them shown to be avoidable"
        + (f", {unseen} not examined, because the steps ran out." if unseen else ".")
    )
    interface.say(f"Where the steps for finding went: {result.evidence}.")
    if result.errors:
        interface.say(
            f"{result.agent}: {counted(result.errors, 'episode')} raised errors and show neither failing nor "
            f"surviving; the first error was {result.first_error}"
        )


def _told(result: FailureSearch) -> dict[str, Any]:
    return {
        "task": result.task,
        "agent": result.agent,
        "episodes": result.episodes,
        "failed": result.failed,
        "judged": result.judged,
        "steps": result.steps,
        "judging_steps": result.judging_steps,
        "method": result.method,
        "chosen": result.chosen,
        "ways": [asdict(each) | {"rate": each.rate} for each in result.ways],
        "errors": result.errors,
        "first_error": result.first_error,
        "failures": [
            {
                "disturbance": str(failure.disturbance),
                "disturbed_steps": failure.disturbance.total[1],
                "log_likelihood": failure.disturbance.total[0],
                "seed": failure.trace.seed,
                "actions": list(failure.trace.actions),
                "reseeds": [list(pair) for pair in failure.trace.reseeds],
                "lost_at": None if failure.moment is None else failure.moment.depth,
                "avoidable": failure.avoidable,
                "looked": failure.looked,
                "witness": None if failure.witness is None else list(failure.witness.actions),
            }
            for failure in result.failures
        ],
    }
