from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import typer

from tightrope.cli import verbs
from tightrope.cli.app import ORDER, _own_verbs
from tightrope.cli.output.interface import Interface, use_interface
from tightrope.cli.process.command import verb
from tightrope.errors import NotReproducible, RunLocked, UsageError
from tightrope.runs.campaign import KEPT


@pytest.fixture(autouse=True)
def plain() -> None:
    use_interface(Interface())


def outcome(error: BaseException) -> int:
    @verb
    def command() -> int:
        raise error

    with pytest.raises(typer.Exit) as ended:
        command()
    return ended.value.exit_code


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UsageError("wrong [value]"), 2, "error: wrong [value]"),
        (NotReproducible("elsewhere"), 3, "error: elsewhere"),
        (RunLocked("busy"), 3, "error: busy"),
        (FileNotFoundError(2, "No such file or directory", "x.json"), 2, "error: x.json: No such file or directory"),
        (ZeroDivisionError("division by zero"), 3, "error: unexpected ZeroDivisionError: division by zero."),
        (KeyboardInterrupt(KEPT), 130, "error: interrupted; what was finished is kept, and the same command continues"),
        (KeyboardInterrupt(), 130, "error: interrupted; the same command starts again"),
    ],
)
def test_every_error_is_one_paragraph_and_a_code(
    error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome(error) == code
    told = capsys.readouterr().err
    assert told.startswith(message)
    assert told.count("\n") == 1
    assert "Traceback" not in told


def test_debug_adds_the_traceback_and_keeps_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    use_interface(Interface(debug=True))
    assert outcome(UsageError("wrong")) == 2
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert told.endswith("error: wrong\n")


def test_flags_are_known_everywhere_but_not_behind_a_double_dash() -> None:
    interface, rest = Interface.from_arguments(["--json", "run", "a b", "--quiet", "--", "--debug"])
    assert (interface.as_json, interface.quiet, interface.debug) == (True, True, False)
    assert rest == ["run", "a b", "--", "--debug"]
    assert interface.command == "tightrope run 'a b' -- --debug"


def test_what_the_user_named_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    interface = Interface()
    interface.say("Report: runs[new]/" + "x" * 200)
    interface.table("of [agent]", ("name", "n"), [("[red]", 1234), ("b", None)])
    told = capsys.readouterr().out
    assert "Report: runs[new]/" + "x" * 200 + "\n" in told, "a path in a log is not folded"
    assert "of [agent]" in told
    assert "[red]" in told
    assert "1,234" in told
    assert "no data" in told


def test_json_leaves_out_words_and_tables(capsys: pytest.CaptureFixture[str]) -> None:
    interface = Interface(as_json=True)
    interface.say("words")
    interface.table("title", ("a",), [(1,)])
    interface.data({"a": None})
    assert json.loads(capsys.readouterr().out) == {"a": None}


def test_quiet_leaves_out_progress_and_remarks(capsys: pytest.CaptureFixture[str]) -> None:
    interface = Interface(quiet=True)
    interface.remark("by the way")
    with interface.progress() as show:
        assert show is None
    assert capsys.readouterr().out == ""


def test_no_color_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert not Interface.from_arguments(["tasks"])[0].color


def test_a_verb_is_a_file_in_its_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {path.stem for path in Path(next(iter(verbs.__path__))).glob("*.py")} - {"__init__"}
    assert [name for name, _ in _own_verbs()] == list(ORDER)
    assert files == set(ORDER)
    (tmp_path / "another.py").write_text("NEEDS_ARGUMENTS = False", encoding="utf-8")
    monkeypatch.setattr(verbs, "__path__", [*verbs.__path__, str(tmp_path)])
    assert [name for name, _ in _own_verbs()] == [*ORDER, "another"]
    monkeypatch.delitem(sys.modules, f"{verbs.__name__}.another")
