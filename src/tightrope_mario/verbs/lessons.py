"""``tightrope mario lessons``: situations for agents to go on learning in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope.extending import PASSED, current_interface, verb
from tightrope_mario.training import defaults
from tightrope_mario.verbs.options import AgentsOption, RomOption

EXAMPLE = "tightrope mario lessons --level 1-1 --out lessons/"
NEEDS_ARGUMENTS = True


@verb
def command(
    level: Annotated[str, typer.Option("--level", help="The level, as in 1-2; its late agents get a file each.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Receives the trace files.")],
    agents: AgentsOption = None,
    games: Annotated[int, typer.Option("--games", help="That each agent plays.", min=1)] = defaults.LESSON_GAMES,
    references: Annotated[
        int, typer.Option("--references", help="Ways through the level whose boundary states are taken.", min=1)
    ] = defaults.LESSON_REFERENCES,
    places: Annotated[
        int, typer.Option("--places", help="Drawn evenly from these ways.", min=0)
    ] = defaults.LESSON_PLACES,
    steps: Annotated[
        int, typer.Option("--steps", help="That these ways and their boundary states may cost.", min=1)
    ] = defaults.LESSON_STEPS,
    rom: RomOption = None,
) -> int:
    """Find situations to go on training in, off the tested reference: shortly before lost games, and narrow places.

    Train with --continue AGENT --situations FILE --situation-actions combined.
    """
    import tightrope as tr
    from tightrope_mario.shipped import SHIPPED, late_agents
    from tightrope_mario.training.lessons import lessons

    interface = current_interface()
    written = {}
    found = lessons(
        late_agents(agents or SHIPPED, level),
        games=games,
        references=references,
        places=places,
        steps=steps,
        rom=None if rom is None else str(rom),
    )
    for agent, traces in found:
        target = out / f"{agent.path.stem}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        tr.write_traces(target, traces)
        written[str(target)] = len(traces)
        interface.say(f"{target}: {len(traces)} situations")
    interface.data(written)
    return PASSED
