"""One word for one thing: fail is a verdict, unsafe an outcome, doomed a proof."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FORBIDDEN = re.compile(r"\b(fall|falls|fell|fallen|falling|bad|explored)\b", re.IGNORECASE)
# What really falls, in the worlds of these files, and what English lets fall.
WORLDS = ("src/tightrope/tasks/builtin/", "src/tightrope/testing/worlds.py", "src/tightrope_mario/game/")
IDIOMS = re.compile(r"\b(fall|falls|fell) (short|silent|off|back)\b|\bbad luck\b", re.IGNORECASE)
# The paper's own word where it is explained, and the name of a field that old files have.
QUOTED = re.compile(r"\(the paper says explored\)|\(\"explored\"\)|\"fall\", \"failing_trace\"|BAD_REQUEST")
CODE = ("src/**/*.py", "src/**/*.html", "src/**/*.js", "src/**/*.css", "examples/**/*.py", "benchmarks/**/*.py")
PATTERNS = (*CODE, "docs/*.md", "*.md")
FILES = [path for pattern in PATTERNS for path in sorted(ROOT.glob(pattern))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_other_word_for_a_verdict_an_outcome_or_a_proof(path: Path) -> None:
    if path.relative_to(ROOT).as_posix().startswith(WORLDS):
        return
    assert not [line for line in path.read_text(encoding="utf-8").splitlines() if _says(line)]


def test_nor_in_the_names_of_tests() -> None:
    """In their bodies worlds may have holes, and whoever steps into one falls."""
    defined = re.compile(r"^ *def (test_\w+)", re.MULTILINE)
    names = [name for path in ROOT.glob("tests/**/*.py") for name in defined.findall(path.read_text(encoding="utf-8"))]
    assert not [name for name in names if _says(name)]


def _says(line: str) -> bool:
    """Whether a line says one of them, in a sentence or in a name: ``bad_states`` is one, too."""
    return bool(FORBIDDEN.search(IDIOMS.sub("", QUOTED.sub("", line).replace("_", " "))))
