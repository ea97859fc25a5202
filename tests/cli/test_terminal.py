"""What users and files name is printed as it is: it moves no cursor, begins no line, and becomes no picture."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from tests.report.synthetic import mario_like_run
from tightrope.cli.output.interface import Interface, _print_line
from tightrope.cli.output.verdicts import print_gates
from tightrope.cli.progress.bars import PlainLines, bars
from tightrope.guards.text import one_line, visible
from tightrope.progress import Progress
from tightrope.report import Results
from tightrope.report.writers.markdown import _escape, markdown_summary
from tightrope.runs.gates import Gate

ATTACK = "envs4:four: [red]x[/]\x1b[2J\x07\r\u202e\x9b31m\ngate passed: all of them"
SHOWN = r"envs4:four: [red]x[/]\x1b[2J\x07\r\u202e\x9b31m\ngate passed: all of them"


def harmless(told: str) -> bool:
    return all(sign.isprintable() or sign == "\n" or unicodedata.category(sign) == "Zs" for sign in told)


def test_signs_that_cannot_be_seen_are_spelt_out() -> None:
    assert one_line(ATTACK) == SHOWN
    assert visible(ATTACK) == SHOWN.replace(r"\ngate", "\ngate")
    assert one_line("größe ½ 14\u202f% 日本 😀") == "größe ½ 14\u202f% 日本 😀"


def test_names_reach_the_terminal_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    interface = Interface(color=False)
    interface.say(ATTACK)
    interface.table(ATTACK, (ATTACK, "n"), [(ATTACK, 1)])
    print_gates(interface, [Gate(name="fail frequency", agent=ATTACK, suite="simple", passed=False, detail="too many")])
    told = capsys.readouterr().out
    assert harmless(told)
    assert told.splitlines()[0] == SHOWN
    assert f"gate FAILED: {SHOWN}, simple: too many\n" in told
    assert told.count("envs4:four:") == 5
    assert not [line for line in told.splitlines() if line.startswith("gate passed")]


def test_lines_of_an_error_that_is_quoted_are_set_in(capsys: pytest.CaptureFixture[str]) -> None:
    Interface(color=False).error(f"the environment raised ValueError: {ATTACK}")
    told = capsys.readouterr().err
    assert harmless(told)
    assert told.startswith("error: the environment raised ValueError: envs4:four: [red]x[/]")
    assert told.endswith("\n  gate passed: all of them\n")


def test_progress_shows_names_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    PlainLines()(Progress("safety", 1, 4, ATTACK))
    assert capsys.readouterr().err == f"safety: 1/4, {SHOWN}\n"
    screen = io.StringIO()
    with bars(Console(file=screen, force_terminal=True, width=200, color_system=None)) as show:
        show(Progress("safety", 1, 4, ATTACK))
    assert SHOWN in screen.getvalue()
    assert "\x07" not in screen.getvalue()


def test_the_summary_shows_names_as_they_are() -> None:
    assert "\n" not in _escape(ATTACK)
    assert harmless(_escape(ATTACK))
    told = markdown_summary(Results(title=ATTACK, runs=(mario_like_run(ATTACK), mario_like_run("b"))))
    assert harmless(told)
    assert "\ngate passed" not in told


def test_a_terminal_without_other_signs_gets_others_spelt_out() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    command = [sys.executable, "-m", "tightrope", "check", "CartPole-v1"]
    done = subprocess.run(command, env=environment, cwd=Path(__file__).parents[2], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert rb"\xb5s to save" in done.stdout


def folded(line: str, width: int = 40, *, terminal: bool = True) -> list[str]:
    output = io.StringIO()
    _print_line(Console(file=output, force_terminal=terminal, width=width, color_system=None), Text(line))
    return output.getvalue().splitlines()


def test_on_a_terminal_sentences_are_folded_between_words() -> None:
    told = "  21% of its fails (1 case, as 34f3d57e), avoidable: at step 1 it chose down"
    assert folded(told) == [
        "  21% of its fails (1 case, as",
        "    34f3d57e), avoidable: at step 1 it",
        "    chose down",
    ]
    assert folded(told, terminal=False) == [told], "logs keep one line for one thing"
    assert folded("") == [""]


def test_what_is_copied_is_not_folded() -> None:
    command = "  More: tightrope explain a/folder/with/runs 34f3d57e --agent early"
    assert folded(command) == [command]
    path = "Report: a/folder/that/is/longer/than/the/terminal/is/wide/index.html"
    assert folded(path) == [path]
