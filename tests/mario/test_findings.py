"""What is said about the paper's findings, on a toy world whose numbers are known."""

from __future__ import annotations

import tightrope as tr
from tightrope.safety import SafetyResult
from tightrope.statistics import Estimate
from tightrope.testing import corridor_task
from tightrope_mario.findings import LevelFindings, findings

CORRIDOR = corridor_task(length=8, holes=(3,))


def judged(name: str, action: int) -> SafetyResult:
    """An agent that always does the same, at the boundary state before the hole."""
    agent = tr.load_agent(lambda observation: action, CORRIDOR, name=name)
    reference = tr.search(CORRIDOR).reference
    assert reference is not None
    return tr.run_suite(CORRIDOR, agent, tr.simple_suite(reference), repetitions=1, length=4)


def texts(**agents: int) -> dict[str, str]:
    row = {name.replace("_", " "): judged(name.replace("_", " "), action) for name, action in agents.items()}
    level = LevelFindings(
        level="1-1", safety={"simple": row}, performance=(), fuzzing={}, proportional=None, boundary_states=1, proven=1
    )
    return {finding.title: finding.text for finding in findings([level], Estimate.of_nothing())}


def test_early_and_late_and_sparse_and_dense_are_compared_by_name() -> None:
    said = texts(**{"basic_early": 0, "basic_late": 1, "basic_early_(sparse)": 0, "basic_late_(sparse)": 0})
    training = said["Training makes agents safer"].splitlines()
    assert [line.split(" (simple")[0] for line in training[2:]] == [
        "- holds for basic on 1-1",
        "- is undecided for basic (sparse) on 1-1",
    ]
    assert "1.00 early, 0.00 late; paper 0.32, 0.24" in training[2]
    sparse = said["Sparse rewards make less safe agents"].splitlines()
    assert [line.split(" (simple")[0] for line in sparse[2:]] == [
        "- is undecided for basic early on 1-1",
        "- holds for basic late on 1-1",
    ]


def test_ties_are_not_decided_by_the_order_of_the_agents() -> None:
    for names in (("2-moves_late", "basic_late"), ("basic_late", "2-moves_late")):
        said = texts(**dict.fromkeys(names, 0))
        assert said["Which action set is safest"].splitlines()[2].startswith("- is undecided on 1-1: ")
    assert "- holds on 1-1" in texts(**{"basic_late": 0, "2-moves_late": 1})["Which action set is safest"]
    row = {name: judged(name, action) for name, action in (("a", 0), ("b", 0), ("c", 1))}
    level = LevelFindings(
        level="1-1",
        safety={"simple": row, "interval:1": row},
        performance=(),
        fuzzing={},
        proportional=None,
        boundary_states=1,
        proven=1,
    )
    (agree,) = [f.text for f in findings([level], Estimate.of_nothing()) if f.title == "Suites agree about agents"]
    assert agree.endswith("interval:1 on 1-1: 2 of 3 pairs of agents are in the same order, 1 are tied.")


def test_what_was_not_measured_is_not_judged() -> None:
    said = texts(basic_late=1)
    assert "nothing can be said" in said["Sparse rewards make less safe agents"]
    assert "nothing can be said" in said["Which action set is safest"]
    assert "Too few" in said["Safety goes with reward"]
