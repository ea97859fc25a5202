"""Every command and every settings file of the README and the documentation is one that works.

Each `console` command is taken by the real command line: its verb and options exist, its values are allowed. Those of
RUN are executed too, in a folder as their reader has it; `run`, `search`, `risk`, `failures` and the verbs of Mario may
take minutes, so what they do is left to the tests of their own.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from examples.train_cartpole import main as train_cartpole

import tightrope as tr
from tightrope.cli import run_command
from tightrope.cli.app import app
from tightrope.cli.output.interface import EVERYWHERE, Interface
from tightrope.errors import UsageError
from tightrope.runs.configuration.config import sections
from tightrope.settings import AgentConfig, BisectConfig, FailuresConfig, KeepConfig, RiskConfig

ROOT = Path(__file__).parent.parent
OTHERS = (
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/README.md",
    "agents/mario/README.md",
    "agents/gallery/README.md",
)
PAGES = [ROOT / "README.md", *(ROOT / name for name in OTHERS), *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`(tightrope\s[^`]+)`")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUN = ("explain", "replay", "compare", "history", "report", "export", "check", "tasks", "init", "keep")
"""Verbs whose commands are executed: seconds, on a finished run."""
RUN_TOO = ("safety kept.suite.json",)
"""Other commands that take no longer."""
SMALL = {"keep": ["--steps", "300"], "safety": ["--episodes", "2", "--repetitions", "1"]}
"""Budgets with which they are executed, where the page leaves them out."""
NOT_HERE = ("replay run/ CASE", "--minari", "compare run-old run-new", "compare early.zip", "--task CartPole-v1")
"""What is not executed though its verb is: a window or a terminal is asked for, a data set outside of the folder, two
more runs, archives that were trained first, or a whole run of minutes (tests/cli/test_compare.py has a small one);
`compare` is executed on other agents."""
OTHER_PROGRAMS = ("ray", "git", "pre-commit", "cd", "source", "mkdocs")
"""Programs of others, whose options are theirs."""


def blocks(page: Path, *languages: str) -> list[str]:
    return [text for language, text in FENCE.findall(page.read_text(encoding="utf-8")) if language in languages]


def commands(page: Path) -> list[list[str]]:
    """What a page says to type, one list of words for each command."""
    text = "".join(blocks(page, "console")).replace("\\\n", " ")
    typed = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    for block in blocks(page, "bash", "sh"):
        typed += [line for line in block.splitlines() if line.strip()]
    typed += [step["run"] for block in blocks(page, "yaml") for step in workflow_steps(block) if "run" in step]
    return [words for line in typed if (words := shlex.split(line, comments=True))]


def workflow_steps(block: str) -> list[dict[str, Any]]:
    data = yaml.safe_load(block)
    return [step for job in data.get("jobs", {}).values() for step in job["steps"]] if isinstance(data, dict) else []


TYPED = [
    pytest.param(page, words, id=f"{page.relative_to(ROOT)}: {shlex.join(words)[:60]}")
    for page in PAGES
    for words in commands(page)
]
SPOKEN = [
    pytest.param(shlex.split(found.replace("\n", " ")), id=f"{page.name}: {found[:50]}")
    for page in PAGES
    for found in INLINE.findall(page.read_text(encoding="utf-8"))
    if "…" not in found and "..." not in found
]


@cache
def the_command() -> Any:
    return typer.main.get_command(app)


def parsed(arguments: list[str]) -> tuple[str, dict[str, Any]]:
    """The verb and what its parameters are, by the real command line; it raises what the user would see."""
    command, context, words = the_command(), None, Interface.from_arguments(arguments)[1]
    path: list[str] = []
    while hasattr(command, "resolve_command"):
        context = command.make_context(path[-1] if path else "tightrope", words, parent=context)
        name, command, words = command.resolve_command(context, [*_protected(context), *context.args])
        path.append(name)
    values = command.make_context(path[-1], words, parent=context).params
    _require_settings(values)
    return " ".join(path), values


def _protected(context: Any) -> list[str]:
    return list(getattr(context, "_protected_args", ()) or getattr(context, "protected_args", ()))


def _require_settings(values: dict[str, Any]) -> None:
    """Settings know which of their values are allowed, and are asked."""
    apart = {"risk": RiskConfig, "failures": FailuresConfig, "bisect": BisectConfig, "keep": KeepConfig}
    for part, section in {"agents": AgentConfig, **sections(), **apart}.items():
        for name, setting in section.settings().items():
            value = values.get(f"{part}_{name}")
            if value not in (None, [], 0):
                setting.require(tuple(value) if isinstance(value, list) else value, name)


def require_pip(words: list[str]) -> None:
    """From a checkout, with extras that there are: the package is on no index."""
    extras = PROJECT["project"]["optional-dependencies"]
    for word in words:
        assert not word.startswith("tightrope"), "it is not published: say '.[extra]', from the checkout"
        if match := re.fullmatch(r"\.(?:/\w+)?\[(.+)\]", word):
            assert set(match[1].split(",")) <= set(extras)


def require_python(words: list[str]) -> None:
    """A module or a file that is there, and options that its text names."""
    if words[0] == "-c":
        compile(words[1], "a command", "exec")
        return
    if words[0] == "-m":
        if words[1] in ("venv", "http.server", "pip"):
            return
        spec = importlib.util.find_spec(words[1])
        assert spec is not None
        assert spec.origin is not None
        words, file = words[1:], Path(spec.origin)
    else:
        file = ROOT / words[0]
    source = file.read_text(encoding="utf-8")
    assert [word for word in words[1:] if word.startswith("--") and f'"{word.partition("=")[0]}"' not in source] == []


def require_pytest(words: list[str]) -> None:
    source = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "src/tightrope/pytest_plugin").glob("*.py"))
    assert [word for word in words if word.startswith("--tightrope") and f'"{word}"' not in source] == []


def require_target(words: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for word in words:
        name = word.partition("=")[0]
        assert re.search(rf"^{name} \?=|\$\({name}\)" if "=" in word else rf"^{name}:", makefile, re.MULTILINE), word


CHECKS = {"pip": require_pip, "python": require_python, "pytest": require_pytest, "make": require_target}


@pytest.mark.parametrize(("page", "words"), TYPED)
def test_a_command_is_one_that_exists(page: Path, words: list[str]) -> None:
    program = words[0].rpartition("/")[2]
    if program == "tightrope":
        parsed(words[1:])
    elif program not in OTHER_PROGRAMS:
        CHECKS[program](words[1:])


@pytest.mark.parametrize("words", SPOKEN)
def test_a_command_in_a_sentence_has_a_verb_and_options_that_exist(words: list[str]) -> None:
    command = the_command()
    for word in words[1:]:
        if word in getattr(command, "commands", {}):
            command = command.commands[word]
    known = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
    named = {word.partition("=")[0] for word in words[1:] if word.startswith("-")}
    assert named <= known | {*EVERYWHERE, "--help"}
    assert not hasattr(command, "commands") or len(words) < 3 or words[1] in ("mario",), f"{words[1]} is no verb"


def test_a_wrong_command_is_seen() -> None:
    for wrong in ("run CartPole-v1 --agnet a.zip", "safety run/ --gate-on low", "fly run/", "mario dance"):
        with pytest.raises(Exception, match=r"(?i)no such|low|one of"):
            parsed(shlex.split(wrong))
    with pytest.raises(AssertionError, match="not published"):
        require_pip(["install", "tightrope[sb3]"])
    with pytest.raises(AssertionError):
        require_target(["fly"])


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the reader has it: agents, and runs in which one of them fails."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "agents").symlink_to(ROOT / "agents")
    early, late = ROOT / "agents/gallery/cartpole-early.onnx", ROOT / "agents/gallery/cartpole-late.onnx"
    for name in ("agent", "early", "old"):
        shutil.copyfile(early, folder / f"{name}.onnx")
    for name in ("late", "new"):
        shutil.copyfile(late, folder / f"{name}.onnx")
    tr.run_campaign(small_campaign(folder, ("early", "late")), folder / "run")
    return folder


def small_campaign(folder: Path, agents: tuple[str, ...]) -> tr.CampaignConfig:
    return tr.CampaignConfig.model_validate(
        {
            "task": "CartPole-v1",
            "agents": [{"source": str(folder / f"{name}.onnx"), "name": name} for name in agents],
            "plain": {"episodes": 3},
            "search": {"references": 1, "reset_seeds": 1, "probe_steps": 200},
            "safety": {"suites": ["simple"], "states": 3, "repetitions": 1, "length": 40, "control": False},
            "fuzzing": {"enabled": False},
            "execution": {"backend": "inline"},
            "report": {"videos": 0},
        }
    )


def quick(words: list[str]) -> bool:
    line = shlex.join(words[1:])
    named = words[0] == "tightrope" and (words[1] in RUN or line.startswith(RUN_TOO))
    return named and not any(part in line for part in NOT_HERE)


def executed() -> dict[Path, list[list[str]]]:
    """Page → its quick commands; one that an earlier page has, but for names of files, is not executed twice."""
    found: dict[Path, list[list[str]]] = {}
    seen = set()
    for page in PAGES:
        for words in filter(quick, commands(page)):
            kind = (words[1], *(word for word in words if word.startswith("-")))
            if kind not in seen:
                seen.add(kind)
                found.setdefault(page, []).append(words[1:])
    return found


@pytest.mark.parametrize(
    ("page", "lines"), executed().items(), ids=[str(page.relative_to(ROOT)) for page in executed()]
)
def test_the_commands_of_a_page_do_their_work(
    page: Path, lines: list[list[str]], reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "here"
    shutil.copytree(reader, folder, symlinks=True)
    monkeypatch.chdir(folder)
    for words in lines:
        code = run_command([*words, *SMALL.get(words[0], [])])
        gated = {"--fail-if-worse", "--max-fail"} & {*words}
        assert code in ((0, 1) if gated else (0,)), shlex.join(words)


def test_the_archives_of_the_tutorial_are_agents(tmp_path: Path) -> None:
    train_cartpole(["--early", "256", "--late", "512", "--out", str(tmp_path)])
    task = tr.make_task("CartPole-v1")
    for name in ("early", "late"):
        assert tr.load_agent(str(tmp_path / f"{name}.zip"), task).name == name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_settings_of_a_page_are_read(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "yaml"):
        if workflow_steps(block):
            continue
        file = tmp_path / "campaign.yaml"
        file.write_text(block, encoding="utf-8")
        tr.load_config(file)
    for block in blocks(page, "toml"):
        require_toml(tomllib.loads(block))
    for block in blocks(page, "json"):
        json.loads(block)


def require_toml(data: dict[str, Any]) -> None:
    """Settings of the pytest plugin that it has, and groups of entry points that are looked at."""
    plugin = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "src/tightrope/pytest_plugin").glob("*.py"))
    for name in data.get("tool", {}).get("pytest", {}).get("ini_options", {}):
        assert f'"{name}"' in plugin
    groups = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "src/tightrope").rglob("*.py"))
    for name in data.get("project", {}).get("entry-points", {}):
        assert f'"{name}"' in groups


def test_a_wrong_setting_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "campaign.yaml"
    file.write_text("task: CartPole-v1\nsafety: {repetitons: 3}\n", encoding="utf-8")
    with pytest.raises(UsageError, match="repetitons"):
        tr.load_config(file)
    with pytest.raises(AssertionError):
        require_toml({"tool": {"pytest": {"ini_options": {"tightrope_speed": "1"}}}})
