"""``tightrope mario``: the Super Mario Bros. case study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope import ExecutionConfig
from tightrope.extending import NOTHING_JUDGED, PASSED, Given, SeedOption, current_interface, own, takes, verb
from tightrope_mario.training import defaults

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
    level: Annotated[
        str | None, typer.Option("--level", help=f"The level, as in 1-2. Default: {defaults.LEVEL}.")
    ] = None,
    actions: Annotated[
        str | None, typer.Option("--actions", help=f"2-moves, basic or right-complex. Default: {defaults.ACTIONS}.")
    ] = None,
    reward: Annotated[
        str | None, typer.Option("--reward", help=f"dense or sparse. Default: {defaults.REWARD}.")
    ] = None,
    agent: Annotated[
        Path | None,
        typer.Option("--continue", help="An agent to go on from; its level, actions and reward are the default."),
    ] = None,
    situations: Annotated[
        Path | None,
        typer.Option("--situations", help="A run whose failing situations games begin in, or a suite or trace file."),
    ] = None,
    share: Annotated[
        float, typer.Option("--share", help="Of games that begin in a situation.", min=0, max=1)
    ] = defaults.SHARE,
    weights: Annotated[
        str, typer.Option("--weights", help="How a situation is chosen: adaptive, fails or equal.")
    ] = defaults.WEIGHTS,
    steps_before: Annotated[
        int, typer.Option("--steps-before", help="Begin so many steps before each situation.", min=0)
    ] = 0,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            help="fast, fast-sparse, continue, continue-sparse, or paper (its hyper-parameters, one game). Default: "
            "continue with --continue, else fast; with -sparse for that reward.",
        ),
    ] = None,
    stages: Annotated[
        list[int],
        typer.Option(
            "--stages",
            help=f"Episodes after which to export; repeatable. Default: {', '.join(map(str, defaults.STAGES))}.",
        ),
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    max_episodes: Annotated[int, typer.Option("--max-episodes", min=1)] = defaults.MAX_EPISODES,
    max_steps: Annotated[int | None, typer.Option("--max-steps", help="Of all games together.", min=1)] = None,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", help="Of this call; the next one continues.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes with games. Default: the preset's.", min=1)
    ] = None,
    lanes: Annotated[
        int | None, typer.Option("--lanes", help="Games that take turns in each process. Default: the preset's.", min=1)
    ] = None,
    device: Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")] = defaults.DEVICE,
    seed: SeedOption = 0,
    rom: RomOption = None,
) -> int:
    """Train an agent by double deep Q-learning and export it to ONNX. Interrupt it at any time; it resumes."""
    from tightrope_mario.training.recipe import TrainingConfig, default_preset, find_recipe, trained_for
    from tightrope_mario.training.starts import starts_from
    from tightrope_mario.training.train import train as run_training

    known = trained_for(agent, level=level, actions=actions, reward=reward)
    starts = None
    if situations is not None:
        starts = starts_from(
            situations, known["level"], known["actions"], share=share, weights=weights, steps_before=steps_before
        )
    config = TrainingConfig(
        folder=out,
        level=known["level"],
        actions=known["actions"],
        reward=known["reward"],
        recipe=find_recipe(
            preset or default_preset(known["reward"], goes_on=agent is not None), workers=workers, lanes=lanes
        ),
        stages=tuple(stages) or defaults.STAGES,
        agent=agent,
        starts=starts,
        max_episodes=max_episodes,
        max_steps=max_steps,
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
    from tightrope.extending import load_settings
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
