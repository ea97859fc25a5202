"""``tightrope fuzz``: step 3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.cli.interface import Interface, current_interface, verb
from tightrope.cli.options import (
    BackendOption,
    RayOption,
    RunArgument,
    RunSeedOption,
    StepTimeoutOption,
    TrustOption,
    WorkersOption,
    changed,
    execution_config,
    uses_stored_cluster,
)
from tightrope.cli.stored import stored_config
from tightrope.cli.supervision import PASSED

if TYPE_CHECKING:
    from tightrope.fuzzing import FuzzResult

EXAMPLE = "tightrope fuzz run/ --generations 50 --population 50"
NEEDS_ARGUMENTS = True
ROWS = 10
"""Generations shown in the table: the first, the last and some between."""


@verb
def command(
    run: RunArgument,
    generations: Annotated[int | None, typer.Option("--generations", "-g", help="Default: 50.", min=1)] = None,
    population: Annotated[int | None, typer.Option("--population", "-p", help="Default: 50.", min=1)] = None,
    mutation_stop: Annotated[
        float | None, typer.Option("--mutation-stop", help="Chance to stop mutating, above 0 (default: 0.2).", max=1)
    ] = None,
    mutation_size: Annotated[
        int | None, typer.Option("--mutation-size", help="Longest run of actions touched (default: 15).", min=1)
    ] = None,
    crossover: Annotated[
        float | None, typer.Option("--crossover", help="Its chance, below one half (default: 0.25).", min=0)
    ] = None,
    truncation: Annotated[float | None, typer.Option("--truncation", help="Only the best share are parents.")] = None,
    trust: TrustOption = False,
    seed: RunSeedOption = None,
    backend: BackendOption = None,
    workers: WorkersOption = None,
    ray: RayOption = None,
    step_timeout: StepTimeoutOption = None,
) -> int:
    """Step 3: breed many other ways through the task from the reference."""
    from tightrope.runs.campaign import working_on

    interface = current_interface()
    stored = stored_config(run, trust=trust, cluster=uses_stored_cluster(backend, ray))
    fuzzing = changed(
        stored.fuzzing,
        enabled=True,
        generations=generations,
        population=population,
        mutation_stop=mutation_stop,
        mutation_size=mutation_size,
        crossover=crossover,
        truncation=truncation,
    )
    changes = {
        "agents": (),
        "fuzzing": fuzzing,
        "seed": stored.seed if seed is None else seed,
        "execution": execution_config(backend, workers, ray, stored.execution, step_timeout),
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
