"""``tightrope fuzz``: step 3."""

from __future__ import annotations

from typing import Annotated

import typer

from tightrope.campaign.config import FuzzingConfig
from tightrope.campaign.folder import RunFolder
from tightrope.cli.interface import PASSED, current_interface, verb
from tightrope.cli.options import BackendOption, RayOption, RunArgument, SeedOption, WorkersOption, execution_config
from tightrope.cli.stored import campaign_of

EXAMPLE = "tightrope fuzz run/ --generations 50 --population 50"
NEEDS_ARGUMENTS = True
ROWS = 10
"""Generations shown in the table: the first, the last and some between."""


@verb
def command(
    run: RunArgument,
    generations: Annotated[int, typer.Option("--generations", "-g", min=1)] = 50,
    population: Annotated[int, typer.Option("--population", "-p", min=1)] = 50,
    mutation_stop: Annotated[float, typer.Option("--mutation-stop", min=0, max=1)] = 0.2,
    mutation_size: Annotated[int, typer.Option("--mutation-size", min=1)] = 15,
    crossover: Annotated[float, typer.Option("--crossover", min=0, max=0.499)] = 0.25,
    truncation: Annotated[float | None, typer.Option("--truncation", help="Only the best share are parents.")] = None,
    seed: SeedOption = 0,
    backend: BackendOption = "processes",
    workers: WorkersOption = None,
    ray: RayOption = None,
) -> int:
    """Step 3: breed many other ways through the task from the reference."""
    interface = current_interface()
    fuzzing = FuzzingConfig(
        generations=generations,
        population=population,
        mutation_stop=mutation_stop,
        mutation_size=mutation_size,
        crossover=crossover,
        truncation=truncation,
    )
    folder = RunFolder.open(run)
    execution = execution_config(backend, workers, ray)
    with folder.locked(), interface.progress() as show:
        campaign = campaign_of(folder, on_progress=show, fuzzing=fuzzing, seed=seed, execution=execution)
        with campaign.engine() as engine:
            result = campaign.fuzzing_step(engine)
            campaign.write_manifest("fuzzed", counters=engine.counters.as_dict())
    assert result is not None
    shown = sorted({round(index * (len(result.generations) - 1) / (ROWS - 1)) for index in range(ROWS)})
    rows = []
    for index in shown:
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
    interface.table(f"Fuzzing {campaign.task.label}", columns, rows)
    control = result.control
    if control is not None:
        interface.say(
            f"Control, as many random traces of the same lengths: {control.covered:,} keys covered against "
            f"{result.covered:,}, best return {control.best_return:,.1f} against {result.best_return:,.1f}."
        )
    interface.data(result.to_json())
    return PASSED
