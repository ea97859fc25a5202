"""How a command ends: no tick stands before bad news, and where nothing failed one is told where to look next."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from tests.report.synthetic import grid_run, no_failure, plainly
from tightrope.cli import run_command
from tightrope.cli.output.closing import _mark, failures_command
from tightrope.cli.output.verdicts import exit_code
from tightrope.report import AgentInfo
from tightrope.report.headline import headline
from tightrope.report.results import PLAIN
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.gates import Gate


def gate(passed: bool) -> Gate:
    return Gate(name="simple fail frequency", agent="a", suite="simple", passed=passed, detail="made up")


@pytest.mark.parametrize(
    ("unsafe", "goals", "gates", "mark"),
    [
        (0, 60, (), "✓"),
        (6, 54, (), "✗"),
        (0, 0, (), "✗"),
        (0, 0, (True,), "!"),
        (0, 60, (True,), "✓"),
        (0, 60, (False,), "✗"),
    ],
)
def test_a_tick_is_for_who_arrives_unharmed(unsafe: int, goals: int, gates: tuple[bool, ...], mark: str) -> None:
    run = no_failure()
    plain = {agent.name: plainly(agent.name, unsafe, goals=goals) for agent in run.agents}
    run = replace(run, plain=plain, gates=tuple(map(gate, gates)))
    assert _mark(run, headline(run)) == mark


def test_gates_that_do_not_look_at_plain_episodes_give_no_tick_to_who_fails_there() -> None:
    run = no_failure()
    plain = {agent.name: plainly(agent.name, 6, goals=54) for agent in run.agents}
    elsewhere = tuple(replace(gate(True), agent=agent.name) for agent in run.agents)
    there = tuple(replace(each, suite=PLAIN) for each in elsewhere)
    for gates, mark in ((elsewhere, "!"), (elsewhere + there, "✓")):
        shown = replace(run, plain=plain, gates=gates)
        assert _mark(shown, headline(shown)) == mark


def test_an_agent_that_could_not_be_judged_leaves_a_question() -> None:
    run = replace(no_failure(), gates=(), plain={})
    assert _mark(run, headline(run)) == "✓"
    unknown = replace(run, agents=(*run.agents, AgentInfo(name="broken")))
    assert _mark(unknown, headline(unknown)) == "?"


def test_who_fails_its_cases_has_a_cross_and_who_was_not_tested_a_question() -> None:
    run = replace(grid_run(), gates=(), plain={})
    assert _mark(run, headline(run)) == "✗"
    nobody = replace(run, safety={}, agents=(AgentInfo(name="a"),))
    assert _mark(nobody, headline(nobody)) == "?"
    harmless = replace(nobody, plain={"a": plainly("a", 0, 60)})
    assert _mark(harmless, headline(harmless)) == "?", "it was to be put somewhere, and nobody knows how it does there"


def test_who_fails_in_plain_episodes_is_judged_though_there_was_nowhere_to_put_it() -> None:
    run = replace(no_failure(), gates=(), safety={}, agents=(AgentInfo(name="a"),), plain={"a": plainly("a", 60, 60)})
    said = headline(run)
    assert said.sentence.startswith("a: ends unsafe in ")
    assert _mark(run, said) == "✗"
    config = CampaignConfig(task="FrozenLake-v1")
    assert exit_code(config, {}, (), run.plain) == 0
    assert exit_code(config, {}, (), {"a": plainly("a", 0, 60)}) == 3
    assert exit_code(config, {}, ()) == 3
    gated = CampaignConfig(task="FrozenLake-v1", safety={"max_fail": 0.1})
    assert exit_code(gated, {}, (), run.plain) == 3, "a gate on suites that have no case is not passed by that"


def test_what_to_type_to_look_farther_is_a_command_that_works(capsys: pytest.CaptureFixture[str]) -> None:
    agent = {"source": "tests.sample_agents:zigzag", "epsilon": 0.1}
    config = CampaignConfig(task="FrozenLake-v1", options={"is_slippery": False, "map_name": "4x4"}, agents=[agent])
    program, *words = shlex.split(failures_command(config))
    assert program == "tightrope"
    assert run_command([*words, "--steps", "200", "--backend", "inline", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["agent"] == "zigzag"
    assert words[-2:] == ["--epsilon", "0.1"]


def test_who_never_fails_is_told_where_to_look_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = ["FrozenLake-v1", "--set", "is_slippery=false", "--agent", "tests.sample_agents:careful"]
    small = ["--backend", "inline", "--episodes", "2", "--references", "1", "--suite", "simple"]
    assert run_command(["run", *lake, *small, "--out", str(tmp_path / "run")]) == 0
    last = " ".join(capsys.readouterr().out.split())
    assert last.endswith(f"tightrope failures {shlex.join([lake[0], '--set', 'is_slippery=false', *lake[3:]])}"), last
