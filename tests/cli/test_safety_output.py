"""What is printed beside the table of step 2."""

from __future__ import annotations

import pytest

import tightrope as tr
from tightrope.cli.output.interface import Interface
from tightrope.cli.output.verdicts import print_safety
from tightrope.testing import corridor_task


@pytest.mark.parametrize(
    ("lengths", "told"),
    [((7, 7), "\nWatched for 7 steps after"), ((7, 9), "\nsimple: watched for 7 steps after")],
    ids=["alike", "different"],
)
def test_suites_that_were_watched_for_different_lengths_are_named(
    lengths: tuple[int, int], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    task = corridor_task()
    agent = tr.load_agent(lambda cell: 1, task, name="walks")
    reference = tr.search(task).reference
    assert reference is not None
    suites = (tr.simple_suite(reference), tr.random_suite(task, 2, 0))
    results = {
        suite.name: {agent.name: tr.run_suite(task, agent, suite, length=length)}
        for suite, length in zip(suites, lengths, strict=True)
    }
    print_safety(Interface(color=False), results)
    printed = capsys.readouterr().out
    assert told in printed
    assert ("\nrandom:2: watched for 9 steps after" in printed) is (lengths == (7, 9))
