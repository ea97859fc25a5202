"""``tightrope replay``: watch a stored episode."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.interface import Interface, current_interface, verb
from tightrope.cli.options import RunArgument, TrustOption
from tightrope.cli.supervision import PASSED

if TYPE_CHECKING:
    from tightrope.runs.replaying import StoredCase
    from tightrope.runs.run import Run

EXAMPLE = "tightrope replay run/ 3f2a91 --video fail.mp4   (without a case it lists the fails)"
NEEDS_ARGUMENTS = True
SHOWN = 20
"""Fails listed when no case is named; --json has all."""


@verb
def command(
    run: RunArgument,
    case: Annotated[
        str | None,
        typer.Argument(metavar="CASE", help="A case's id, or how it begins. Default: list the fails."),
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Which agent's execution.")] = None,
    suite: Annotated[str | None, typer.Option("--suite", help="Of which suite.")] = None,
    execution: Annotated[int | None, typer.Option("--execution", help="Which one; default: the first fail.")] = None,
    video: Annotated[Path | None, typer.Option("--video", help="Write a film instead of showing it.")] = None,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Show it in the terminal even if there is a screen.")
    ] = False,
    trust: TrustOption = False,
) -> int:
    """Play an episode from its stored actions: in a window, as a film, or in the terminal."""
    from tightrope.runs.replaying import find_case, verify_replay
    from tightrope.runs.run import open_run

    interface = current_interface()
    opened = open_run(run, trust=trust)
    if case is None:
        return _list_fails(interface, opened, agent, suite)
    stored = find_case(opened, case, agent, suite)
    episode = stored.episode(execution)
    verify_replay(opened, episode)
    interface.say(
        f"{stored.agent}, {stored.suite}, case {stored.result.case.id}: {episode.prefix_steps} steps to hand-over, "
        f"{len(episode.actions)} by the agent, return {episode.total_reward:g}, ends {episode.outcome}. "
        f"Survivable: {stored.result.survivable}. The environment leads there as it did."
    )
    film = None
    if video is not None or not interface.as_json:
        film = _show(interface, opened, stored, episode, video, terminal)
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
            "film": None if film is None else str(film),
        }
    )
    return PASSED


def _show(
    interface: Interface, run: Run, stored: StoredCase, episode: Any, video: Path | None, terminal: bool
) -> Path | None:
    """Show the episode where it was asked for; returns the film, if one was written."""
    from tightrope.cli.terminal_frames import play_in_terminal
    from tightrope.cli.window import can_open_window, play_in_window
    from tightrope.report.films.video import encode, record

    frames, rate = record(run.task, episode.trace, first=0, expect=episode.outcome)
    if not frames:
        interface.say("This environment renders no pictures and has no map, so there is nothing to see.")
    elif video is not None:
        film = encode(frames, rate)
        path = video.with_suffix(film.suffix)
        path.write_bytes(film.content)
        interface.say(f"Film: {path}")
        return path
    elif not terminal and not can_open_window(os.environ) and not sys.stdout.isatty():
        interface.say("There is neither a screen nor a terminal to show it on; --video FILE writes a film.")
    elif not terminal and can_open_window(os.environ):
        play_in_window(frames, rate, title=f"tightrope: {stored.agent}, case {stored.result.case.id}")
    else:
        play_in_terminal(frames, rate)
    return None


def _list_fails(interface: Interface, run: Run, agent: str | None, suite: str | None) -> int:
    from tightrope.runs.replaying import stored_fails

    fails = stored_fails(run, agent, suite)
    rows = [
        (
            stored.result.case.id,
            stored.agent,
            stored.suite,
            stored.result.case.depth,
            stored.result.case.label,
            format(stored.result.fail_frequency, ".2f"),
            str(stored.result.survivable),
        )
        for stored in fails
    ]
    columns = ("case", "agent", "suite", "boundary state at", "situation", "fails", "survivable")
    shown = f"the worst {SHOWN} of " if len(rows) > SHOWN else ""
    interface.table(f"Fails: {shown}{len(rows)}", columns, rows[:SHOWN])
    interface.data([dict(zip(columns, row, strict=True)) for row in rows])
    interface.remark(f"Watch one: tightrope replay {run.path} CASE")
    return PASSED
