"""``tightrope mario``: the Super Mario Bros. case study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli.given import Given, own, takes
from tightrope.cli.interface import current_interface, verb
from tightrope.cli.options import SeedOption
from tightrope.cli.supervision import NOTHING_JUDGED, PASSED
from tightrope.settings import ExecutionConfig

RomOption = Annotated[Path | None, typer.Option("--rom", help="The ROM file.", show_default=False)]

app = typer.Typer(
    help="Super Mario Bros.: train agents, reproduce the figures of the paper.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command(
    epilog="Example: tightrope mario train --actions basic --out training/ --stages 3000 --stages 20000",
    no_args_is_help=True,
)
@verb
def train(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Receives checkpoint, agents and log; continues what is there.")
    ],
    level: Annotated[str, typer.Option("--level", help="The level, as in 1-2.")] = "1-1",
    actions: Annotated[str, typer.Option("--actions", help="2-moves, basic or right-complex.")] = "2-moves",
    reward: Annotated[str, typer.Option("--reward", help="dense or sparse.")] = "dense",
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            help="fast, fast-sparse, or paper (its hyper-parameters, one game). Default: fast-sparse with --reward "
            "sparse, else fast.",
        ),
    ] = None,
    stages: Annotated[list[int], typer.Option("--stages", help="Episodes after which to export; repeatable.")] = [  # noqa: B006
        20_000,
        40_000,
        60_000,
        80_000,
    ],
    max_episodes: Annotated[int, typer.Option("--max-episodes", min=1)] = 80_000,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", help="Of this call; the next one continues.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes with games. Default: the preset's.", min=1)
    ] = None,
    lanes: Annotated[
        int | None, typer.Option("--lanes", help="Games that take turns in each process. Default: the preset's.", min=1)
    ] = None,
    device: Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")] = "auto",
    seed: SeedOption = 0,
    rom: RomOption = None,
) -> int:
    """Train an agent by double deep Q-learning and export it to ONNX. Interrupt it at any time; it resumes."""
    from tightrope_mario.training.recipe import TrainingConfig, default_preset, find_recipe
    from tightrope_mario.training.train import train as run_training

    config = TrainingConfig(
        folder=out,
        level=level,
        actions=actions,
        reward=reward,
        recipe=find_recipe(preset or default_preset(reward), workers=workers, lanes=lanes),
        stages=tuple(stages),
        max_episodes=max_episodes,
        max_seconds=max_seconds,
        device=device,
        seed=seed,
        rom=None if rom is None else str(rom),
    )
    interface = current_interface()
    summary = run_training(config)
    interface.say(f"Agents and log: {out}")
    interface.data(summary)
    return PASSED


@app.command(epilog="Example: tightrope mario reproduce --out runs/reproduction   or with --config part.yaml")
@verb
@takes(execution=own(ExecutionConfig, "workers"))
def reproduce(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Receives a run folder for each level, and the report.")
    ] = Path("runs/reproduction"),
    config: Annotated[
        Path | None, typer.Option("--config", help="A file that names a part of it (YAML, TOML).")
    ] = None,
    agents: Annotated[Path | None, typer.Option("--agents", help="Folder with the agents.")] = None,
    given: Given = Given(),
) -> int:
    """Run the paper's experiments for the agents there are; its numbers stand beside ours in one report. It resumes."""
    from tightrope.runs.configfile import load_settings
    from tightrope_mario.reproduce import ReproductionConfig
    from tightrope_mario.reproduce import reproduce as run_reproduction

    settings = ReproductionConfig() if config is None else load_settings(config, ReproductionConfig)
    if agents is not None:
        settings = settings.model_copy(update={"agents": agents})
    settings = settings.model_copy(update={"execution": given.changed("execution", settings.execution)})
    interface = current_interface()
    with interface.progress() as show:
        report = run_reproduction(settings, out, on_progress=show)
    interface.say(f"Report: {report}")
    interface.data({"report": str(report)})
    return PASSED


@app.command(epilog="Example: tightrope mario levels")
@verb
def levels(rom: RomOption = None) -> int:
    """Step 1 on all 32 levels, and the table of what it took."""
    from tightrope_mario.all_levels import solve_levels

    interface = current_interface()
    with interface.progress() as show:
        solved = solve_levels(rom=None if rom is None else str(rom), on_progress=show)
    rows = [
        (
            entry.level,
            entry.method,
            entry.frames,
            entry.seconds,
            entry.length,
            f"{entry.proven} / {entry.boundary_states}",
        )
        for entry in solved
    ]
    columns = ("level", "method", "frames", "seconds", "reference length", "boundary states (proven / all)")
    interface.table("Super Mario Bros.", columns, rows)
    interface.data([entry.to_json() for entry in solved])
    return PASSED if all(entry.length for entry in solved) else NOTHING_JUDGED
