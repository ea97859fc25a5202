"""``tightrope mario ship``: a trained agent as a file worth keeping."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tightrope.extending import PASSED, current_interface, verb
from tightrope_mario.training import defaults
from tightrope_mario.verbs.options import RomOption

EXAMPLE = "tightrope mario ship training/1-1-dense-basic-20000.onnx agents/mario/1-1-dense-basic-late.onnx"
NEEDS_ARGUMENTS = True


@verb
def command(
    source: Annotated[Path, typer.Argument(metavar="TRAINED", help="An agent that a training exported.")],
    target: Annotated[Path, typer.Argument(metavar="STORED", help="The file to write.")],
    mean_with: Annotated[
        Path | None,
        typer.Option("--mean-with", metavar="AGENT", help="Store the mean of the weights with this agent."),
    ] = None,
    observations: Annotated[
        int, typer.Option("--observations", help="On which the two are compared.", min=4)
    ] = defaults.SHIP_OBSERVATIONS,
    games: Annotated[int, typer.Option("--games", help="That each of the two plays.", min=1)] = defaults.SHIP_GAMES,
    rom: RomOption = None,
) -> int:
    """Store a trained agent in half the size, compare the two, and play games with both."""
    from tightrope_mario.training.shipping import mean_of, ship, try_out

    game = None if rom is None else str(rom)
    if mean_with is not None:
        source = mean_of([mean_with, source], source.with_name(f"{source.stem}-mean.onnx"))
    difference = ship(source, target, observations=observations, rom=game)
    stored, trained = (try_out(path, games=games, rom=game) for path in (target, source))
    interface = current_interface()
    interface.say(
        f"{target} chooses as {source} does at {difference.same_greedy_action} of {difference.observations} "
        f"observations; no value differs by more than {difference.largest_difference:.2g}."
    )
    interface.say(
        f"It reaches the flag in {stored.flags} of {stored.games} games with {stored.epsilon:.0%} random actions, "
        f"{source} in {trained.flags}."
    )
    interface.data(
        {
            "file": target.name,
            "half_precision": asdict(difference),
            "trial": asdict(stored),
            "trial_before_rounding": asdict(trained),
        }
    )
    return PASSED
