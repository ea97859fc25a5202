"""``method="auto"``: plain episodes or disturbances, in worlds where it is known which of them pays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tightrope.cli import run_command
from tightrope.errors import UsageError
from tightrope.failures.result import WAYS
from tightrope.settings import FailureMethod, FailureWay

SLIDE, END = 12, 60
BUDGET = tr.Budget(steps=6_000)
FACTOR = 0.6
"""Of what the better way finds, so much is found by auto at least: it cannot know before it has tried."""


class Weather(gym.Env[int, int]):
    """Storms that the reset seed draws, and slopes beside the way.

    A storm of one of so many kinds comes in the sixth step of some episodes; who has played 1 before is in shelter.
    With slopes, whoever plays 1 slides for a dozen steps and falls, unless he plays 1 in the fourth of them.
    """

    observation_space, action_space = gym.spaces.Discrete(200), gym.spaces.Discrete(2)

    def __init__(self, kinds: int, often: float, slopes: bool, end: int) -> None:
        self.kinds, self.often, self.slopes, self.end = kinds, often, slopes, end

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        rng = np.random.default_rng(seed)
        self.storm = int(rng.integers(self.kinds)) if rng.random() < self.often else -1
        self.prize, self.steps, self.slid, self.shelter = float(rng.random()), 0, 0, False
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        self.shelter |= bool(action)
        if self.slid == 3 and action:
            self.slid = 0
        elif self.slid or (action and self.slopes):
            self.slid += 1
        fell = self.slid > SLIDE or (self.steps == 6 and self.storm >= 0 and not self.shelter)
        return min(self.steps, 199), self.prize, fell, self.steps >= self.end, {"fell": fell}


def weather(*, kinds: int = 1, often: float = 0.0, slopes: bool = False, end: int = END) -> tuple[tr.Task, Any]:
    """The task, and an agent that plays 0 always."""

    def key(env: Any, observation: Any, info: Any) -> tuple[int, ...]:
        world = env.unwrapped
        return world.storm, world.steps, world.slid, world.shelter

    task = tr.Task(
        name="weather",
        make_env=lambda: Weather(kinds, often, slopes, end),
        goal=lambda t: t.truncated and not t.info["fell"],
        unsafe=lambda t: t.info.get("fell", False),
        state_key=key,
    )
    return task, tr.load_agent(lambda seen: 0, task, name="straight")


def causes(task: tr.Task, found: tr.FailureSearch) -> int:
    """How many different storms, and different steps in which it began to slide, ended its episodes."""
    env, ends = task.make_env(), set[tuple[int, int]]()
    for failure in found.failures:
        env.reset(seed=failure.trace.seed)
        stormed = len(failure.trace) == 6 and not any(failure.trace.actions)
        ends.add((env.unwrapped.storm, 0) if stormed else (-1, len(failure.trace)))
    return len(ends)


def searched(method: FailureMethod, seed: int, **world: Any) -> tuple[tr.FailureSearch, int]:
    task, agent = weather(**world)
    found = tr.search_failures(task, agent, BUDGET, seed, method=method, judging=0, backend="inline")
    return found, causes(task, found)


@pytest.mark.parametrize("seed", range(3))
def test_where_only_plain_episodes_fail_they_get_the_steps(seed: int) -> None:
    """Whatever disturbs the agent saves it."""
    world = {"kinds": 150, "often": 0.5, "end": 12}
    auto, plain, search = (searched(method, seed, **world) for method in ("auto", "plain", "search"))
    assert auto[0].chosen == "plain"
    assert auto[1] >= FACTOR * max(plain[1], search[1]) > 0


@pytest.mark.parametrize("seed", range(3))
def test_where_only_disturbances_make_it_fail_they_get_the_steps(seed: int) -> None:
    auto, plain, search = (searched(method, seed, slopes=True) for method in ("auto", "plain", "search"))
    assert plain[1] == 0
    assert auto[0].chosen == "search"
    assert auto[1] >= FACTOR * search[1] > 0


def test_failures_of_one_cause_are_no_reason_to_go_on() -> None:
    """Every second plain episode fails, always by the same storm: once that is known, nothing new is to be expected."""
    auto, found = searched("auto", 0, kinds=1, often=0.5, slopes=True)
    [plain, disturbed] = auto.ways
    assert plain.failed >= 3
    assert (plain.new, auto.chosen) == (0, "search")
    assert disturbed.steps > 3 * plain.steps
    assert found > 5


def test_the_result_says_how_the_steps_were_divided_and_on_what_evidence() -> None:
    task, agent = weather(kinds=150, often=0.5, slopes=True)
    found = tr.search_failures(task, agent, tr.Budget(steps=3_000), backend="inline")
    assert [taken.way for taken in found.ways] == [*get_args(FailureWay)] == [*WAYS]
    assert sum(taken.steps for taken in found.ways) == found.finding_steps
    assert sum(taken.episodes for taken in found.ways) == found.episodes
    assert sum(taken.failed for taken in found.ways) == found.failed
    assert found.method == "auto"
    for said in ("auto gave", f"{found.finding_steps:,} steps", *map(str, found.ways)):
        assert said in found.evidence


def test_plain_means_plain_and_what_was_not_tried_is_no_data() -> None:
    found, _ = searched("plain", 0, kinds=150, often=0.5, slopes=True)
    assert all(failure.disturbance.total == (0.0, 0) for failure in found.failures)
    [plain, disturbed] = found.ways
    assert (disturbed.episodes, disturbed.rate, str(disturbed)) == (0, None, "disturbances: no data")
    assert plain.rate is not None
    assert plain.rate > 0


@pytest.mark.parametrize("method", get_args(FailureMethod))
def test_an_agent_that_raises_at_once_does_not_take_the_whole_budget(method: FailureMethod) -> None:
    task, _ = weather(slopes=True)

    def broken(seen: int) -> int:
        raise ValueError("out of order")

    agent = tr.load_agent(broken, task, name="broken")
    found = tr.search_failures(task, agent, tr.Budget(steps=50_000), method=method, backend="inline")
    assert found.stop_reason is tr.StopReason.EXHAUSTED
    assert found.judged == 0
    assert 0 < found.errors <= found.episodes < 500


def test_an_unknown_method_is_told_the_known_ones() -> None:
    task, agent = weather()
    with pytest.raises(UsageError, match="auto, plain or search"):
        tr.search_failures(task, agent, method="best")  # type: ignore[arg-type]


def test_the_command_says_what_was_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    agent = str(Path(__file__).parents[2] / "agents" / "gallery" / "cartpole-early.onnx")
    arguments = ["failures", "CartPole-v1", "--agent", agent, "--judging", "0", "--backend", "inline"]
    assert run_command([*arguments, "--steps", "12000", "--json"]) == 0
    [told] = json.loads(capsys.readouterr().out)
    assert (told["method"], told["chosen"]) == ("auto", "plain")
    assert [way["way"] for way in told["ways"]] == ["plain", "search"]
    assert sum(way["steps"] for way in told["ways"]) == told["steps"]
    assert run_command([*arguments, "--steps", "1000", "--method", "plain"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Where the steps for finding went: method plain: 100% of" in said
    assert "disturbances: no data" in said
    assert run_command([*arguments, "--method", "best"]) == 2
