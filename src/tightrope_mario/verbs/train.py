"""``tightrope mario train``: an agent by double deep Q-learning, from the beginning or from another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from tightrope.extending import PASSED, SeedOption, current_interface, verb
from tightrope_mario.training import defaults
from tightrope_mario.verbs.options import RomOption

if TYPE_CHECKING:
    from tightrope.training import StartWeights

EXAMPLE = "tightrope mario train --actions basic --out training/ --stages 3000 --stages 20000"
NEEDS_ARGUMENTS = True


@verb
def command(
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
    situation_actions: Annotated[
        str | None,
        typer.Option("--situation-actions", help="What the numbers of such a file press. Default: as --actions."),
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
    changes: Annotated[
        list[str],
        typer.Option("--set", metavar="NAME=VALUE", help="A number of the preset, such as updates=8; repeatable."),
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
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
    from tightrope_mario.training.recipe import TrainingConfig, default_preset, find_recipe, parse_changes, trained_for
    from tightrope_mario.training.starts import starts_from
    from tightrope_mario.training.train import train as run_training

    known = trained_for(agent, level=level, actions=actions, reward=reward)
    starts = None
    if situations is not None:
        starts = starts_from(
            situations,
            known["level"],
            situation_actions or known["actions"],
            share=share,
            weights=cast("StartWeights", weights),
            steps_before=steps_before,
        )
    machine = {"workers": workers, "lanes": lanes}
    given = {name: value for name, value in machine.items() if value is not None}
    config = TrainingConfig(
        folder=out,
        level=known["level"],
        actions=known["actions"],
        reward=known["reward"],
        recipe=find_recipe(
            preset or default_preset(known["reward"], goes_on=agent is not None), **{**parse_changes(changes), **given}
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
