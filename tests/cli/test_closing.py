"""The mark before the last sentence: no tick stands before bad news."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report.synthetic import grid_run, no_failure, plainly
from tightrope.cli.output.closing import _mark
from tightrope.report import AgentInfo
from tightrope.report.headline import headline
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


def test_who_fails_its_cases_has_a_cross_and_who_was_not_tested_a_question() -> None:
    run = replace(grid_run(), gates=(), plain={})
    assert _mark(run, headline(run)) == "✗"
    nobody = replace(run, safety={}, agents=(AgentInfo(name="a"),))
    assert _mark(nobody, headline(nobody)) == "?"
