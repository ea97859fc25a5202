"""Workers that fall silent: what they hold is done by others, and nobody waits for them."""

from __future__ import annotations

import pytest

from tests.execution.simulated import LeapingAgent, SimulatedBackend, level_task
from tightrope.execution import Engine, Rollout
from tightrope.execution.backends.backend import Assignment, Report
from tightrope.trace import ActionTrace

MOST_LOOKS = 10_000
"""In vain, before a test fails instead of going on for ever."""


class FallingSilent(SimulatedBackend):
    """Worker 1 answers once and never again, however often it is replaced."""

    may_stall = True
    answers = 1
    looks = replaced = 0

    def submit(self, worker: int, work: Assignment) -> None:
        if worker == 1 and not self.answers:
            return
        self.answers -= worker == 1
        super().submit(worker, work)

    def collect(self, timeout: float | None) -> list[Report]:
        if self._due:
            return super().collect(timeout)
        self.looks += 1
        assert self.looks < MOST_LOOKS, "the engine waits for a worker that is silent"
        return []

    def replace(self, worker: int) -> None:
        self.replaced += 1


@pytest.mark.parametrize("one_in", [1, 3, 10**9])
def test_nobody_waits_for_a_silent_worker_that_holds_a_second_opinion(monkeypatch, one_in):
    monkeypatch.setattr("tightrope.execution.scheduling.second_opinions.ONE_IN", one_in)
    monkeypatch.setattr("tightrope.execution.scheduling.dispatch.PATIENCE", 0.0)
    task, agents = level_task(60), {"leaping": LeapingAgent()}
    start = ActionTrace(task.label, 0)
    work = [Rollout(start=start, agent="leaping", length=20, seed=number) for number in range(60)]
    with Engine(task, agents) as engine:
        expected = engine.run(work)
    backend = FallingSilent(task, agents, engine.conformance, workers=3)
    engine._runner.begin(backend, deterministic=engine.deterministic)
    with engine:
        found = engine.run(work)
    assert found == expected
    assert backend.replaced
    assert (engine.counters.episodes_rechecked > 0) == (one_in < 10**9)
