"""``tightrope fuzz``: step 3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tightrope.cli.arguments.given import Given, own, takes
from tightrope.cli.arguments.options import (
    RunArgument,
    RunSeedOption,
    TrustOption,
    execution_config,
    uses_stored_cluster,
)
from tightrope.cli.arguments.stored import stored_config
from tightrope.cli.output.interface import Interface, current_interface
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import PASSED
from tightrope.settings import ExecutionConfig, FuzzingConfig

if TYPE_CHECKING:
    from tightrope.fuzzing import FuzzResult

EXAMPLE = "tightrope fuzz run/ --generations 50 --population 50"
NEEDS_ARGUMENTS = True
ROWS = 10
"""Generations shown in the table: the first, the last and some between."""


@verb
@takes(fuzzing=own(FuzzingConfig), execution=own(ExecutionConfig))
def command(
    run: RunArgument,
    given: Given = Given(),
    trust: TrustOption = False,
    seed: RunSeedOption = None,
) -> int:
    """Step 3: breed many other ways through the task from the reference.

    Settings that you do not give are taken from the run.
    """
    from tightrope.runs.campaign import working_on

    interface = current_interface()
    stored = stored_config(run, trust=trust, cluster=uses_stored_cluster(given))
    changes = {
        "agents": (),
        "fuzzing": given.changed("fuzzing", stored.fuzzing).changed(enabled=True),
        "seed": stored.seed if seed is None else seed,
        "execution": execution_config(given, stored.execution),
    }
    config = stored.model_copy(update=changes)
    with interface.progress() as show, working_on(run, config, joins=True, on_progress=show) as pipeline:
        sets = pipeline.run.manifest.action_sets
        bred = pipeline.with_engine(lambda engine: [pipeline.fuzzing(engine, actions) for actions in sets])
        pipeline.run.save(status="fuzzed")
    for result in bred:
        _print(interface, pipeline.run.task_label, result)
    interface.data(bred[0].to_json() if len(bred) == 1 else [result.to_json() for result in bred])
    return PASSED


def _print(interface: Interface, label: str, result: FuzzResult) -> None:
    rows = []
    for index in sorted({round(index * (len(result.generations) - 1) / (ROWS - 1)) for index in range(ROWS)}):
        generation, fittest = result.generations[index], result.individuals[index]
        rows.append(
            (
                generation.index,
                fittest.fitness.value,
                fittest.total_return,
                generation.terms["total_return"].mean,
                generation.covered,
                generation.goals,
                generation.steps,
            )
        )
    columns = ("generation", "best fitness", "its return", "mean return", "keys covered", "goals", "steps")
    interface.table(f"Fuzzing {label}", columns, rows)
    control = result.control
    if control is not None:
        interface.say(
            f"Control, as many random traces of the same lengths: {control.covered:,} keys covered against "
            f"{result.covered:,}, best return {control.best_return:,.1f} against {result.best_return:,.1f}."
        )
