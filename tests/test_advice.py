"""What messages tell users to type exists: public names of Python, and options of the command line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import tightrope as tr
from tightrope.cli.app import app
from tightrope.cli.output.interface import EVERYWHERE

SOURCE = Path(tr.__file__).parent
NAME = re.compile(r"(?<![\w.:/@-])(?:tr|tightrope)\.([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?(?![\w./-]*:\w)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
MODULES = ("errors", "extending", "report", "testing", "training")
FILES = ("suite", "json", "toml", "yaml", "yml", "db")
"""Endings that files of the name of the project have."""
OF_OTHERS = {"--head", "--no-deps"}
"""Options of Ray and of pip."""


def messages(path: Path) -> Iterator[tuple[str, str]]:
    """Texts in the code that a person may read: more than one word, no docstring and no program; with their places."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [*ast.walk(tree)]
    # Docstrings and what describes a field stand alone; parts of an f-string belong to it.
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if id(node) in alone or id(node) in parts:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if " " in text.strip() and "import " not in text:
            yield text, f"{path.relative_to(SOURCE.parent)}:{node.lineno}"


ALL = [found for path in sorted(SOURCE.parent.glob("tightrope*/**/*.py")) for found in messages(path)]


def test_every_name_that_a_message_advises_is_public() -> None:
    advised = [(match, place) for text, place in ALL for match in NAME.finditer(text)]
    assert len(advised) > 10
    wrong = [f"{match[0]} in {place}" for match, place in advised if not _is_public(match[1], match[2])]
    assert not wrong


def _is_public(name: str, inner: str | None) -> bool:
    if name in MODULES:
        module = __import__(f"tightrope.{name}", fromlist=["__all__"])
        return inner is None or inner in module.__all__
    # Not dir(tr): rooms that were imported are in there, too.
    return name in FILES or name in tr.__all__ or name == "__version__"


def test_every_option_that_a_message_advises_exists() -> None:
    of_pytest = set(re.findall(r'"(--tightrope[a-z-]*)"', (SOURCE / "pytest_plugin/options.py").read_text("utf-8")))
    known = {*_options(typer.main.get_command(app)), *EVERYWHERE, *of_pytest, *OF_OTHERS}
    advised = [(match[0], place) for text, place in ALL for match in OPTION.finditer(text)]
    assert len(advised) > 50
    wrong = [f"{option} in {place}" for option, place in advised if option.rstrip("-") not in known]
    assert not wrong


def _options(command: Any) -> Iterator[str]:
    """Of a command and of all that are inside it."""
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    for inner in getattr(command, "commands", {}).values():
        yield from _options(inner)
