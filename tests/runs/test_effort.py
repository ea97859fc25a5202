"""How much of the default budgets a run spends: by what steps and answers take, said, kept, and settable."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightrope as tr
from tightrope.agents import Answer
from tightrope.cli import run_command
from tightrope.runs.campaign import working_on
from tightrope.runs.configuration import effort
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.configuration.effort import effort_for, effort_text, with_effort
from tightrope.settings import AgentConfig, FuzzingConfig, SearchConfig, parse_share
from tightrope.simulation import pace
from tightrope.testing import WALK, FunctionAgent, corridor_task

TASK = corridor_task(6, holes=(3,))
LAKE = CampaignConfig(task="FrozenLake-v1", options={"is_slippery": False})


@pytest.mark.parametrize(
    ("seconds", "effort"),
    [
        (0.00002, 1),
        (0.00035, 1),
        (0.00036, 1 / 4),
        (0.001, 1 / 4),
        (0.0021, 1 / 16),
        (0.02, 1 / 64),
        (0.055, 1 / 256),
        (0.2, 1 / 1024),
    ],
)
def test_slow_tasks_get_less(seconds: float, effort: float) -> None:
    assert effort_for(TASK.with_options(step_seconds=seconds)) == effort


class Answers(FunctionAgent):
    """Takes its time, on a clock of the test's own, and remembers how many observations it has seen in an episode."""

    deterministic = False

    def __init__(self, clock: Clock, seconds: float) -> None:
        super().__init__(lambda cell: WALK, f"takes {seconds:g}")
        self.clock, self.seconds, self.seen = clock, seconds, list[int]()

    def act(
        self,
        observations: Sequence[Any],
        memories: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> Answer:
        """Walk, later."""
        assert all(rng is not None and rng.random() < 1 for rng in generators)
        self.clock.now += self.seconds
        self.seen.append((memories[0] or 0) + 1)
        return Answer([WALK] * len(observations), [self.seen[-1]])


class Clock:
    """The processor's time, which passes where a test says so."""

    now = 0.0

    def process_time(self) -> float:
        """The time."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    return clock


@pytest.mark.parametrize(
    ("step", "answer", "effort"),
    [
        # A quarter of the steps ask, so a quarter of an answer is added to each.
        (0.0001, 0.0, 1),
        (0.0001, 0.0009, 1),
        (0.0001, 0.0011, 1 / 4),
        (0.0005, 0.0017, 1 / 4),
        (0.0005, 0.008, 1 / 16),
        (0.02, 0.0017, 1 / 64),
        (0.02, 0.02, 1 / 256),
    ],
)
def test_slow_agents_get_less(clock: Clock, step: float, answer: float, effort: float) -> None:
    assert effort_for(TASK.with_options(step_seconds=step), [Answers(clock, answer)]) == effort


def test_of_several_agents_the_slowest_counts(clock: Clock) -> None:
    task = TASK.with_options(step_seconds=0.0001)
    quick, slow = Answers(clock, 0.0), Answers(clock, 0.005)
    assert effort_for(task, [quick, slow]) == effort_for(task, [slow, quick]) == effort_for(task, [slow]) == 1 / 4


def test_an_agent_is_asked_as_in_episodes_of_its_own(clock: Clock) -> None:
    agent = Answers(clock, 0.001)
    effort_for(corridor_task(6, holes=(), step_seconds=0.0001), [agent])
    assert len(agent.seen) == pace.STEPS
    # A corridor of six cells is walked through in three to six steps.
    assert (agent.seen[0], max(agent.seen) <= 6, agent.seen.count(1) >= 3) == (1, True, True)


def test_an_agent_that_raises_is_told_of_by_who_plays_with_it(clock: Clock) -> None:
    broken = tr.load_agent(lambda cell: 1 // 0, TASK, name="broken")
    assert effort_for(TASK.with_options(step_seconds=0.0001), [broken]) == 1


def test_whose_effort_is_known_is_not_measured(clock: Clock) -> None:
    agent = Answers(clock, 0.005)
    given = CampaignConfig(task="x", effort=0.5)
    assert with_effort(given, TASK, [agent]).effort == 0.5
    assert with_effort(CampaignConfig(task="x"), TASK, [agent], given).effort == 0.5
    assert not agent.seen


def test_a_run_with_a_slow_agent_keeps_its_effort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "look_seconds", lambda task, look: 0.005)
    config = LAKE.model_copy(update={"agents": (AgentConfig(source="tests.sample_agents:zigzag"),)})
    with working_on(tmp_path / "run", config) as pipeline:
        assert (pipeline.config.effort, pipeline.config.safety.states) == (1 / 4, 10)
    monkeypatch.setattr(effort, "look_seconds", lambda task, look: 0.0)
    with working_on(tmp_path / "run", config) as pipeline:
        assert (pipeline.config.effort, pipeline.config.safety.states) == (1 / 4, 10)
    with working_on(tmp_path / "other", config) as pipeline:
        assert pipeline.config.effort == 1


def test_what_a_step_takes_is_measured_where_nobody_says_it() -> None:
    slow = corridor_task(6, holes=(3,))
    make = slow.make_env

    def thinking() -> Any:
        env = make()
        step = env.step

        def think(action: Any) -> Any:
            until = time.process_time() + 0.01
            while time.process_time() < until:
                pass
            return step(action)

        env.step = think
        return env

    assert effort_for(slow) == 1
    assert effort_for(slow.with_options(make_env=thinking)) == 1 / 64


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("inf"), float("nan")])
def test_a_time_that_is_none_is_refused(wrong: float) -> None:
    with pytest.raises(tr.errors.TaskError, match="step_seconds must be a number above 0"):
        TASK.with_options(step_seconds=wrong)


def test_all_budgets_of_a_slow_task_are_smaller_and_what_was_given_stays() -> None:
    given = CampaignConfig(task="x", search=SearchConfig(probe_steps=7_000), fuzzing=FuzzingConfig(population=40))
    config = with_effort(given, TASK.with_options(step_seconds=0.02))
    assert config.effort == 1 / 64
    assert config.search.probe_steps == 7_000
    assert config.fuzzing.population == 40
    assert (config.plain.steps, config.search.steps, config.search.reference_steps) == (1_000, 7_812, 2_000)
    assert (config.safety.states, config.safety.survival_steps, config.safety.explain_steps) == (5, 3_750, 3_125)
    assert (config.fuzzing.steps, config.performance.tests) == (2_344, 3)
    whole = with_effort(CampaignConfig(task="x"), TASK.with_options(step_seconds=0.0001))
    assert whole.model_copy(update={"effort": None}) == CampaignConfig(task="x")


def test_a_run_keeps_its_effort(tmp_path: Path) -> None:
    with working_on(tmp_path / "run", LAKE.model_copy(update={"effort": 1 / 64})) as pipeline:
        assert pipeline.config.search.probe_steps == 500
        pipeline.search()
    with working_on(tmp_path / "run", LAKE) as pipeline:
        assert pipeline.config.effort == 1 / 64
        assert pipeline.config.search.probe_steps == 500
    with (
        pytest.raises(tr.errors.UsageError, match="probe_steps was 500, now 20000"),
        working_on(tmp_path / "run", LAKE.model_copy(update={"effort": 1.0})),
    ):
        pass


def test_a_run_from_before_there_was_an_effort_spent_everything() -> None:
    slow = TASK.with_options(step_seconds=0.02)
    assert with_effort(CampaignConfig(task="x"), slow, earlier=CampaignConfig(task="x")).effort == 1


def test_shares_are_written_as_people_do() -> None:
    assert [parse_share(text) for text in ("1/64", "50%", "0.25")] == [1 / 64, 0.5, 0.25]
    assert [effort_text(share) for share in (1 / 64, 1.0, 0.3)] == ["1/64", "1/1", "0.3"]
    with pytest.raises(ValueError, match="not a share; write 5%"):
        parse_share("1/0")


def test_the_command_says_how_much_it_spent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "FrozenLake-v1", "--set", "is_slippery=false", "--agent", "tests.sample_agents:zigzag"]
    command += ["--out", str(tmp_path / "run"), "--backend", "inline"]
    assert run_command([*command, "--effort", "1/64"]) == 0
    printed = capsys.readouterr().out
    assert "Spent 1/64 of the default budgets" in printed
    for page in ("index.html", "summary.md"):
        assert "Spent 1/64 of the default budgets" in (tmp_path / "run" / "report" / page).read_text(encoding="utf-8")
    config = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))["config"]
    assert (config["effort"], config["search"]["probe_steps"]) == (1 / 64, 500)
    assert run_command([*command, "--effort", "3/2"]) == 2
    assert "--effort must be" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "options", "effort"),
    [
        ("Hopper-v5", {}, 1),
        ("Walker2d-v5", {}, 1),
        ("HalfCheetah-v5", {}, 1),
        ("Walker2d-v5", {"hold": 8}, 1 / 4),
        ("ALE/MsPacman-v5", {}, 1 / 4),
        ("ALE/Freeway-v5", {}, 1 / 4),
        ("mario", {}, 1 / 4),
        ("highway-fast-v0", {}, 1 / 64),
        ("merge-v0", {}, 1 / 64),
        ("highway-v0", {}, 1 / 256),
    ],
)
def test_built_in_tasks_near_a_border_say_what_a_step_takes(name: str, options: dict[str, int], effort: float) -> None:
    task = tr.make_task(name, **options)
    assert task.step_seconds is not None
    assert effort_for(task) == effort
