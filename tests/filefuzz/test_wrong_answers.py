"""Environments and agents that answer nonsense: the error names them, and is one of tightrope's own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.filefuzz.trying import at_most
from tightrope.errors import TightropeError
from tightrope.simulation import CrossCheck

ALWAYS, LATE = 0, 5
"""From which cell on: at once, or where no examination of the task comes by."""

REWARDS: dict[str, Any] = {
    "none": None, "text": "much", "number as text": "1", "bytes": b"1", "huge": 1e308, "minus huge": -1e308,
    "nan": float("nan"), "infinite": float("inf"), "minus infinite": float("-inf"), "array": np.array([1.0, 2.0]),
    "one in an array": np.array([1.0]), "empty array": np.array([]), "list": [1.0], "dict": {"reward": 1.0},
    "complex": 1j, "object": object(), "long": 10**400, "bool": True,
}  # fmt: skip
OBSERVATIONS: dict[str, Any] = {
    "outside": {"cell": np.array([99.0]), "speed": np.array([0.0])}, "missing field": {"cell": np.array([1.0])},
    "other field": {"cell": np.array([1.0]), "speed": np.array([0.0]), "x": 1}, "none": None, "text": "here",
    "number": 3,
    "shape": {"cell": np.zeros(3), "speed": np.zeros(1)}, "nan": {"cell": np.array([np.nan]), "speed": np.zeros(1)},
    "list": [1, 2], "set": {1, 2}, "objects": {"cell": np.array([None]), "speed": np.zeros(1)},
    "texts": {"cell": "1", "speed": "0"}, "empty": {}, "huge": {"cell": np.array([1e308]), "speed": np.zeros(1)},
}  # fmt: skip
INFOS: dict[str, Any] = {
    "none": None, "text": "x", "list": [], "mask text": {"action_mask": "10"}, "mask none": {"action_mask": None},
    "mask short": {"action_mask": np.array([1])}, "mask long": {"action_mask": np.ones(9)},
    "mask nothing": {"action_mask": np.zeros(2, np.int8)}, "mask number": {"action_mask": 3},
    "mask nan": {"action_mask": np.array([np.nan, np.nan])}, "keys": {1: 2}, "mask dict": {"action_mask": {"a": 1}},
}  # fmt: skip
STEPS: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "short": lambda step: step[:4], "long": lambda step: (*step, 1), "none": lambda step: None,
    "list": list, "text": lambda step: "abcde", "dict": lambda step: dict.fromkeys("abcde"),
    "terminated none": lambda step: (*step[:2], None, *step[3:]), "terminated text": lambda step: (*step[:2],
    "no", *step[3:]),
    "terminated array": lambda step: (*step[:2], np.array([True, False]), *step[3:]),
    "truncated array": lambda step: (*step[:3], np.array([]), step[4]),
    "truncated object": lambda step: (*step[:3], object(), step[4]),
}  # fmt: skip
ANSWERS: dict[str, Any] = {
    "none": None, "text": "1", "outside": 99, "negative": -1, "nan": float("nan"), "half": 0.5,
    "array": np.array([0, 1]),
    "list": [1], "empty": [], "object": object(), "dict": {"action": 1}, "huge": 10**400, "infinite": float("inf"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody plays it again in another process: what comes out here is the same there, and takes seconds each time."""
    examination = "tightrope.simulation.conformance.examination"
    monkeypatch.setattr(f"{examination}.prepare_cross_check", lambda: None)
    monkeypatch.setattr(f"{examination}.cross_check", lambda *given: CrossCheck(skipped="not wanted"))


class Odd(gym.Env[Any, Any]):
    """A corridor of twelve cells with a hole at 4, jumped over by action 1; the rest of it can be made odd."""

    def __init__(self, first: int, change: Callable[[tuple[Any, ...]], Any]) -> None:
        self.first, self.change, self.cell = first, change, 0
        box = gym.spaces.Box(0.0, 20.0, (1,), np.float64)
        self.observation_space = gym.spaces.Dict({"cell": box, "speed": box})
        self.action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = 0
        return self._seen(), {}

    def step(self, action: int) -> Any:
        self.cell += 1 + int(action)
        step = (self._seen(), -1.0, self.cell == 4 or self.cell >= 12, False, {"cell": self.cell})
        return self.change(step) if self.cell > self.first else step

    def _seen(self) -> dict[str, Any]:
        return {"cell": np.array([float(self.cell)]), "speed": np.array([0.0])}


def odd_task(first: int, change: Callable[[tuple[Any, ...]], Any]) -> tr.Task:
    def cell(env: Any, observation: Any, info: Any) -> int:
        return int(env.unwrapped.cell)

    return tr.Task(
        name="odd",
        make_env=partial(Odd, first, change),
        goal=lambda transition: transition.terminated is True and transition.observation["cell"][0] >= 12,
        unsafe=lambda transition: transition.observation["cell"][0] == 4,
        state_key=cell,
        max_steps=40,
    )


def replaced(place: int, value: Any) -> Callable[[tuple[Any, ...]], Any]:
    return lambda step: (*step[:place], value, *step[place + 1 :])


def sound(step: tuple[Any, ...]) -> tuple[Any, ...]:
    return step


def through_all_steps(task: tr.Task, answer: Callable[[Any], Any]) -> list[str]:
    """Search, suites, fuzzing and performance; what the episodes say went wrong, if anything did."""
    agent = tr.load_agent(answer, task, name="odd one")
    reference = tr.search(task, budget=tr.Budget(steps=2000)).reference
    told = [str(episode.error) for episode in tr.evaluate(task, agent, episodes=2).episodes if episode.error]
    if reference is None:
        return told
    for kind in ("simple", "coverage:1"):
        suite = tr.make_suite(kind, reference, task=task)
        result = tr.run_suite(task, agent, suite, repetitions=2, length=5)
        told += [str(episode.error) for case in result.cases for episode in case.episodes if episode.error]
    bred = tr.fuzz(task, reference.actions, generations=2, population=4)
    tr.compare_robustness(task, agent, bred.fittest, tests=2, episodes=2, step_width=4)
    return told


ENVIRONMENTS = {
    **{f"reward {name}": replaced(1, value) for name, value in REWARDS.items()},
    **{f"observation {name}": replaced(0, value) for name, value in OBSERVATIONS.items()},
    **{f"info {name}": replaced(4, value) for name, value in INFOS.items()},
    **{f"step {name}": change for name, change in STEPS.items()},
}


@pytest.mark.parametrize("first", [ALWAYS, LATE], ids=["always", "late"])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_odd_environment_is_borne_or_named(name: str, first: int) -> None:
    told = outcome(odd_task(first, ENVIRONMENTS[name]), lambda observation: 1)
    assert all("task odd" in text or 'info["action_mask"]' in text for text in told), told


@pytest.mark.parametrize("name", ANSWERS)
def test_an_odd_agent_is_borne_or_named(name: str) -> None:
    told = outcome(odd_task(ALWAYS, sound), lambda observation: ANSWERS[name])
    assert all("odd one" in text for text in told), told


def test_without_oddities_nothing_is_told() -> None:
    assert outcome(odd_task(ALWAYS, sound), lambda observation: 1) == []


def outcome(task: tr.Task, answer: Callable[[Any], Any]) -> list[str]:
    """What was told, by episodes or by an error of tightrope's own; anything else fails, and so does a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            with at_most(60):
                return through_all_steps(task, answer)
        except TightropeError as error:
            return [str(error)]
