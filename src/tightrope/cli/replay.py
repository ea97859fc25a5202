"""``tightrope replay``: watch a stored episode."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tightrope.campaign.folder import RunFolder
from tightrope.campaign.replaying import find_case, verify_replay
from tightrope.cli.interface import PASSED, current_interface, verb
from tightrope.cli.options import RunArgument
from tightrope.cli.stored import campaign_of
from tightrope.cli.terminal_frames import play_in_terminal
from tightrope.cli.window import can_open_window, play_in_window
from tightrope.report.video import encode, record

EXAMPLE = "tightrope replay run/ 3f2a91 --video fall.mp4"
NEEDS_ARGUMENTS = True


@verb
def command(
    run: RunArgument,
    case: Annotated[str, typer.Argument(metavar="CASE", help="A case's id, or how it begins; the report shows them.")],
    agent: Annotated[str | None, typer.Option("--agent", help="Which agent's execution.")] = None,
    suite: Annotated[str | None, typer.Option("--suite", help="Of which suite.")] = None,
    execution: Annotated[int | None, typer.Option("--execution", help="Which one; default: the first fall.")] = None,
    video: Annotated[Path | None, typer.Option("--video", help="Write a film instead of showing it.")] = None,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Show it in the terminal even if there is a screen.")
    ] = False,
) -> int:
    """Play an episode from its stored actions: in a window, as a film, or in the terminal."""
    interface = current_interface()
    campaign = campaign_of(RunFolder.open(run))
    stored = find_case(campaign, case, agent, suite)
    episode = stored.episode(execution)
    verify_replay(campaign, episode)
    interface.say(
        f"{stored.agent}, {stored.suite}, case {stored.result.case.id}: {episode.prefix_steps} steps to hand-over, "
        f"{len(episode.actions)} by the agent, return {episode.total_reward:g}, ends {episode.outcome}. "
        f"Survivable: {stored.result.survivable}. The environment leads there as it did."
    )
    interface.data(
        {
            "case": stored.result.case.id,
            "agent": stored.agent,
            "suite": stored.suite,
            "seed": episode.trace.seed,
            "actions": episode.trace.actions,
            "handover": episode.prefix_steps,
            "outcome": str(episode.outcome),
            "reproduced": True,
        }
    )
    if interface.as_json and video is None:
        return PASSED
    frames, rate = record(campaign.task, episode.trace, first=0, expect=episode.outcome)
    if not frames:
        interface.say("This environment renders no pictures and has no map, so there is nothing to see.")
    elif video is not None:
        film = encode(frames, rate)
        path = video.with_suffix(film.suffix)
        path.write_bytes(film.content)
        interface.say(f"Film: {path}")
    elif not terminal and can_open_window(os.environ):
        play_in_window(frames, rate, title=f"tightrope: {stored.agent}, case {stored.result.case.id}")
    else:
        play_in_terminal(frames, rate)
    return PASSED
