"""``tightrope replay``: watch a stored episode."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.arguments.given import Given, own, takes
from tightrope.cli.arguments.options import RunArgument, TrustOption
from tightrope.cli.output.interface import Interface, current_interface
from tightrope.cli.output.verdicts import named_case, place_text
from tightrope.cli.output.words import counted, in_percent
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import PASSED
from tightrope.settings import AgentConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tightrope.cli.pictures.stepping import Reel
    from tightrope.execution import Episode
    from tightrope.explanation import Instant
    from tightrope.runs.questions.explaining import ExplainedCase
    from tightrope.runs.questions.replaying import StoredCase
    from tightrope.runs.run import Run
    from tightrope.trace import ActionTrace

EXAMPLE = "tightrope replay run/ 3f2a91 --video fail.mp4   (without a case it lists the fails)"
NEEDS_ARGUMENTS = True
SHOWN = 20
"""Fails listed when no case is named; --json has all."""


@verb
@takes(agents=own(AgentConfig))
def command(
    run: RunArgument,
    case: Annotated[
        str | None,
        typer.Argument(metavar="CASE", help="A case's id, or the beginning of it. Default: list the fails."),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent",
            help="The agent whose execution is shown; a file that the run has not tested is put into the case now.",
        ),
    ] = None,
    suite: Annotated[str | None, typer.Option("--suite", help="The suite of the case.")] = None,
    execution: Annotated[
        int | None, typer.Option("--execution", help="Number of the execution; default: the first fail.")
    ] = None,
    video: Annotated[Path | None, typer.Option("--video", help="Write a film instead of showing it.")] = None,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Show it in the terminal even if there is a screen.")
    ] = False,
    given: Given = Given(),
    trust: TrustOption = False,
) -> int:
    """Play a stored episode, with the escape beside it: in a window, as a film, or in the terminal.

    In a terminal the keys step through it: ← and →, d for the decision, space to play, q to leave.
    """
    from tightrope.cli.arguments.manner import agent_like_those_of, names_an_agent
    from tightrope.runs.questions.explaining import explained, is_explainable
    from tightrope.runs.questions.replaying import executed_case, find_case, verify_replay
    from tightrope.runs.run import open_run

    interface = current_interface()
    opened = open_run(run, trust=trust)
    if case is None:
        return _list_fails(interface, opened, agent, suite)
    if agent is None or agent in opened.agents or not names_an_agent(agent):
        stored = find_case(opened, case, agent, suite)
    else:
        stored = executed_case(opened, case, agent_like_those_of(opened, agent, given, trust=trust), suite)
    episode = stored.episode(execution)
    verify_replay(opened, episode)
    known = stored.agent in opened.agents and is_explainable(episode, stored)
    told = explained(opened, stored, trust=trust) if known else None
    replay = ReplayedCase(stored=stored, episode=episode, told=told)
    why = None if told is None else told.explanation.sentence(opened.task)
    interface.say(_headline(replay))
    if why is not None:
        interface.say(f"{why}.")
    film = None
    if video is not None or not interface.as_json:
        film = _show(interface, opened, replay, video, terminal)
    interface.data(_data(replay, why, film))
    return PASSED


@dataclass(frozen=True, kw_only=True)
class ReplayedCase:
    """What is shown."""

    stored: StoredCase
    episode: Episode
    told: ExplainedCase | None
    """Why it failed; None where it did not, or another execution is shown than the one that was explained."""

    @property
    def traces(self) -> tuple[ActionTrace, ...]:
        """The episode, and the escape where one is known."""
        escape = None if self.told is None else self.told.escape
        return (self.episode.trace,) if escape is None else (self.episode.trace, escape)

    @property
    def decision(self) -> int | None:
        """The step of the decision."""
        return None if self.told is None else self.told.explanation.depth


def _headline(replay: ReplayedCase) -> str:
    stored, episode = replay.stored, replay.episode
    return (
        f"{named_case(stored)}: "
        f"{counted(episode.prefix_steps, 'step')} to hand-over, "
        f"{len(episode.actions)} by the agent, return {episode.total_reward:g}, ends {episode.outcome}. "
        f"Survivable: {stored.result.survivable}. The environment still behaves as it did in that run."
    )


def _data(replay: ReplayedCase, why: str | None, film: Path | None) -> dict[str, Any]:
    stored, episode, told = replay.stored, replay.episode, replay.told
    return {
        "case": stored.result.case.id,
        "agent": stored.agent,
        "suite": stored.suite,
        "seed": episode.trace.seed,
        "actions": episode.trace.actions,
        "handover": episode.prefix_steps,
        "outcome": str(episode.outcome),
        "reproduced": True,
        "why": why,
        "decision": None if told is None else told.explanation.depth,
        "escape": None if told is None or told.escape is None else told.escape.actions,
        "film": None if film is None else str(film),
    }


def _show(interface: Interface, run: Run, shown: ReplayedCase, video: Path | None, terminal: bool) -> Path | None:
    """Show the episode where it was asked for; returns the film, if one was written."""
    from tightrope.cli.pictures.in_window import can_open_window, play_in_window
    from tightrope.cli.pictures.stepping import can_step, step_through
    from tightrope.cli.verbs.explain import print_steps
    from tightrope.report.films.video import encode, record

    in_window = video is None and not terminal and can_open_window(os.environ)
    if video is None and not in_window and can_step():
        reel, rate = _reel(run, shown)
        step_through(reel, rate, start=shown.decision or shown.episode.prefix_steps)
        return None
    if shown.told is not None and not in_window and video is None:
        print_steps(interface, shown.told, run.task)
    frames, rate = record(run.task, shown.episode.trace, first=0, expect=shown.episode.outcome)
    if not frames:
        interface.say("This environment renders no pictures and has no map, so there is nothing to see.")
    elif video is not None:
        film = encode(frames, rate)
        path = video.with_suffix(film.suffix)
        path.write_bytes(film.content)
        interface.say(f"Film: {path}")
        return path
    elif in_window:
        play_in_window(frames, rate, title=f"tightrope: {shown.stored.agent}, case {shown.stored.result.case.id}")
    elif terminal:
        reel, _ = _reel(run, shown)
        sys.stdout.write(reel.shown(len(shown.episode.trace)) + "\n")
    else:
        interface.say("There is no screen and no terminal to show it in. --video FILE writes a film.")
    return None


def _reel(run: Run, shown: ReplayedCase) -> tuple[Reel, float]:
    """The episode and the escape, step by step from reset on, and how many pictures make a second."""
    from tightrope.cli.pictures.stepping import FilmStrip, Reel
    from tightrope.report.films.video import RATE, record
    from tightrope.runs.questions.explaining import whole_way

    strips, rate, seen = [], float(RATE), None if shown.told is None else shown.told.close_up
    known = ((), ()) if seen is None else (seen.fail, seen.escape)
    for title, trace, instants in zip(("what it did", "what would have saved it"), shown.traces, known, strict=False):
        frames, rate = record(run.task, trace, first=0, expect=None)
        way = whole_way(run, trace, instants)
        strips.append(FilmStrip(title=title, frames=frames, captions=_captions(way, shown, run)))
    return Reel(strips=tuple(strips), decision=shown.decision), rate


def _captions(way: Sequence[Instant], shown: ReplayedCase, run: Run) -> list[tuple[str, ...]]:
    from tightrope.explanation.telling import action_of, reward_of, values_of, wanted_of

    names = tuple(run.task.action_names or ())
    seen = None if shown.told is None else shown.told.close_up
    return [
        (
            f"{each.depth}: {action_of(each, names)}" + (" (hand-over)" * (each.depth == shown.episode.prefix_steps)),
            f"reward {reward_of(each)}" if each.reward is not None else "",
            values_of(each, seen),
            wanted_of(each, names),
        )
        for each in way
    ]


def _list_fails(interface: Interface, run: Run, agent: str | None, suite: str | None) -> int:
    from tightrope.runs.questions.reasons import case_command
    from tightrope.runs.questions.replaying import stored_fails
    from tightrope.runs.storage.layout import CONTROLS

    # Nobody is blamed for a control: its cases come last.
    fails = sorted(stored_fails(run, agent, suite), key=lambda stored: stored.suite in CONTROLS)
    interface.data([_fail_data(stored) for stored in fails])
    if not fails:
        interface.say("No stored fail matches. `tightrope run` and `tightrope safety` find fails.")
        return PASSED
    rows = [
        (
            stored.result.case.id[:8],
            stored.agent,
            stored.suite,
            place_text(stored.result.case, stored.suite),
            stored.result.case.label,
            in_percent(stored.result.fail_frequency.value),
            str(stored.result.survivable),
        )
        for stored in fails[:SHOWN]
    ]
    columns = ("case", "agent", "suite", "place", "situation", "fails", "survivable")
    interface.table(counted(len(fails), "failing case"), columns, rows)
    if len(fails) > SHOWN:
        rest = len(fails) - SHOWN
        left_out = f"{counted(rest, 'other')} {'is' if rest == 1 else 'are'} left out"
        interface.say(f"These are the {SHOWN} worst; {left_out}. --agent and --suite choose, --json lists all.")
    worst = fails[0]
    command = case_command("replay", run, worst.result.case.id[:8], worst.agent)
    interface.remark(f"Watch the worst: {command}")
    return PASSED


def _fail_data(stored: StoredCase) -> dict[str, Any]:
    from tightrope.runs.storage.layout import CONTROLS

    result = stored.result
    return {
        "case": result.case.id,
        "agent": stored.agent,
        "suite": stored.suite,
        "place": None if stored.suite in CONTROLS else result.case.place,
        "situation": result.case.label,
        "fails": result.fail_frequency.to_json(),
        "survivable": str(result.survivable),
    }
