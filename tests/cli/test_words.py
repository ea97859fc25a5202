"""What is printed can be read: percentages, tables in 80 columns, the nearest sign a terminal has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tightrope.cli import run_command
from tightrope.cli.arguments.given import Given
from tightrope.cli.arguments.options import agent_configs
from tightrope.cli.output.interface import Interface
from tightrope.cli.output.words import amount, counted, in_percent, points, share
from tightrope.cli.verbs.run import _trusted, _ways_of
from tightrope.settings import SafetyConfig, parse_share
from tightrope.statistics import Estimate

ROOT = Path(__file__).parents[2]
WIDE = Estimate(0.551, 0.238, 0.8512, 6, "made up")


def test_shares_are_percentages() -> None:
    assert in_percent(0.4) == "40%"
    assert share(WIDE) == "55% (24–85%)"
    assert share(Estimate.certain(0.43)) == "43% (exact)"
    assert share(WIDE.without_interval("one reference")) == "55% (no interval)"
    assert share(Estimate.of_nothing()) == amount(Estimate.of_nothing()) == points(Estimate.of_nothing()) == "no data"
    assert points(Estimate(0.12, -0.03, 0.2, 9, "made up")) == "+12 (-3 to +20)"


def test_words_are_counted() -> None:
    assert [counted(number, "case") for number in (0, 1, 2, 1200)] == ["0 cases", "1 case", "2 cases", "1,200 cases"]
    assert [_ways_of("run", "late", number) for number in (1, 4)] == ["1 run of late", "4 runs of late"]
    assert _ways_of("failing run", "late, old", 2) == "2 failing runs of late, old"
    assert _ways_of("", "dfs", 3) == "3 by dfs"


@pytest.mark.parametrize("text", ["5%", " 5 %", "0.05", "5.0%"])
def test_a_rate_may_be_given_in_percent(text: str) -> None:
    assert parse_share(text) == 0.05


@pytest.mark.parametrize("option", ["--max-fail", "--max-fail-plain", "--epsilon"])
def test_every_rate_option_takes_percent(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", "FrozenLake-v1", option, "101%"]) == 2
    assert f"{option} must be between 0 and 1, not 1.01" in capsys.readouterr().err
    assert run_command(["run", "FrozenLake-v1", option, "5"]) == 2
    assert "5 would be 500% of the whole; write 5% or 0.05." in " ".join(
        capsys.readouterr().err.replace("│", "").split()
    )
    assert run_command(["run", "FrozenLake-v1", option, "five"]) == 2
    assert "'five' is not a share; write 5%" in " ".join(capsys.readouterr().err.replace("│", "").split())
    assert run_command(["run", "--help"]) == 0
    assert "5% or 0.05" in capsys.readouterr().out, "the help says so"
    assert run_command(["run", "FrozenLake-v1", option, "5%"]) == 2
    assert "agent" in capsys.readouterr().err, "it is the agent that lacks, not the number"


def test_settings_that_are_no_shares_take_no_percent() -> None:
    shares = {name for name, setting in SafetyConfig.settings().items() if setting.is_share}
    assert "max_fail" in shares
    assert "repetitions" not in shares


@pytest.mark.parametrize("agent", ["zig", "2-moves late (sparse) of a long name"])
def test_a_table_fits_80_columns_and_no_heading_is_cut(
    agent: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    columns = ("agent", "suite", "fails on these cases", "in situations like these", "avoidable", "return", "cases")
    row = (agent, "coverage:1", share(WIDE), share(WIDE), "100%", 0.1013, 1200)
    Interface(color=False).table("Safety", columns, [row])
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= 80
    assert "…" not in told
    for word in " ".join(columns).split():
        assert word in told


def test_where_one_table_would_cut_words_each_agent_has_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = ("agent", "suite", "fails on these cases", "in situations like these", "avoidable", "return", "cases")
    agents = ("cartpole-early", "cartpole-late")
    near_all = share(Estimate(0.974, 0.171, 0.999, 2, "made up"))
    rows = [
        (agent, suite, near_all, near_all, near_all, 91.6, 40) for agent in agents for suite in ("simple", "random")
    ]
    monkeypatch.setenv("COLUMNS", "80")
    Interface(color=False).table("Safety", columns, rows, apart=True)
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= 80
    assert [told.count(f"Safety: {agent}") for agent in agents] == [1, 1]
    assert told.count("(17–99.9%)") == 12, "no number is cut"
    tight = ("2-moves, trained late", "interval:1", share(WIDE), "23% (no interval)", share(WIDE), 274.0, "17 of 36")
    Interface(color=False).table("Safety", columns, [tight], apart=True)
    told = capsys.readouterr().out
    assert max(len(line.rstrip()) for line in told.splitlines()) <= 80
    assert {"2-moves,", "(24–85%)", "interval)", "17", "36"} <= set(told.split()), "nor at the right edge"
    monkeypatch.setenv("COLUMNS", "120")
    Interface(color=False).table("Safety", columns, rows, apart=True)
    assert "Safety:" not in capsys.readouterr().out, "one table where there is room"


def test_a_terminal_without_a_sign_gets_the_nearest() -> None:
    code = "from tightrope.cli.process.streams import settle_streams; settle_streams(); print('✗ 4–5 … µ')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert done.stdout.strip() == rb"x 4-5 ... \xb5"


def test_q_is_quiet_everywhere() -> None:
    for arguments in (["run", "-q", "x"], ["-q", "tasks"]):
        interface, rest = Interface.from_arguments(arguments)
        assert interface.quiet
        assert "-q" not in rest
    assert not Interface.from_arguments(["run", "--", "-q"])[0].quiet


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("tightrope re", ["report", "replay"]),
        ("tightrope run FrozenLake-v", ["FrozenLake-v1"]),
        ("tightrope check FrozenLake-v", ["FrozenLake-v1"]),
        ("tightrope run CartPole-v1 --gate-on h", ["high"]),
        ("tightrope run CartPole-v1 --agent late", []),
    ],
)
def test_a_shell_completes_verbs_tasks_and_words(words: str, offered: list[str]) -> None:
    """Where nothing is offered, the shell completes names of files."""
    environment = {
        **os.environ,
        "_TIGHTROPE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    code = "import sys; sys.argv = ['tightrope']; from tightrope.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == offered


def test_trust_that_is_given_counts_for_the_agents_of_a_file_too() -> None:
    (agent,) = _trusted(agent_configs(["agent.zip"], Given()), trust=True)
    assert agent.trust
    (agent,) = _trusted(agent_configs(["agent.zip"], Given(), trust=True), trust=False)
    assert agent.trust
