"""Agents, and parts of a task, that change the observation they are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.execution.workload import assert_same
from tightrope.agents import Agent, Answer
from tightrope.errors import TaskError
from tightrope.execution import Engine, Episode, Rollout
from tightrope.execution.naive import run_naively
from tightrope.simulation import conformance_of, open_simulator
from tightrope.tasks import Task, Transition
from tightrope.trace import ActionTrace

SIZE = 4


class Drift(gym.Env[Any, Any]):
    """Numbers that grow by the action, shown in its own arrays, which it writes into at every step."""

    def __init__(self, kind: str) -> None:
        one = gym.spaces.Box(-1e3, 1e3, (SIZE,), np.float64)
        spaces = {"box": one, "dict": gym.spaces.Dict({"a": one, "more": gym.spaces.Dict({"b": one})}),
                  "tuple": gym.spaces.Tuple((one, gym.spaces.Tuple((one,))))}  # fmt: skip
        self.observation_space, self.action_space, self.kind = spaces[kind], gym.spaces.Discrete(3), kind
        self.numbers, self.more = np.zeros(SIZE), np.zeros(SIZE)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.numbers[:] = self.more[:] = seed or 0
        return self._shown(), {"action_mask": np.ones(3, np.int8)}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.numbers += action - 0.75
        self.more += self.numbers / 3
        return self._shown(), float(self.more[0]), bool(abs(self.more[0]) > 40), False, {"action_mask": np.ones(3)}

    def _shown(self) -> Any:
        if self.kind == "box":
            return self.more
        return {"a": self.numbers, "more": {"b": self.more}} if self.kind == "dict" else (self.numbers, (self.more,))


def far(transition: Transition) -> bool:
    return transition.terminated


def never(transition: Transition) -> bool:
    return False


def drift(kind: str = "box", **fields: Any) -> Task:
    return Task(name=f"drift-{kind}", make_env=lambda: Drift(kind), goal=never, **{"unsafe": far, **fields})


def leaf(observation: Any) -> Any:
    """The innermost array."""
    if isinstance(observation, dict):
        return leaf(observation["more"]["b"])
    return leaf(observation[1][0]) if isinstance(observation, tuple) else observation


def careful(observation: Any, mask: Any) -> int:
    return int(1000 * abs((leaf(observation) / 7).sum())) % 3


def careless(observation: Any, mask: Any) -> int:
    numbers = leaf(observation)
    numbers /= 7
    mask[:] = 0
    if isinstance(observation, dict):
        observation["more"]["b"] = observation["a"] = None
    return int(1000 * abs(numbers.sum())) % 3


class Careless:
    """An agent that answers batches, and changes what it is shown."""

    name, fingerprint, deterministic, recurrent = "careless", "careless", True, False

    def __init__(self, change: Callable[[Any, Any], Any]) -> None:
        self.change = change

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        for observation, mask in zip(observations, masks, strict=True):
            self.change(observation, mask)
        return Answer([1] * len(observations), [None] * len(observations))


def work(task: Task) -> list[Rollout]:
    """Repetitions and shared prefixes, so that one observation is shown more than once."""
    prefixes = [(1, 2, 0, 1, 1, 2)[:length] for length in range(7)]
    return [
        Rollout(start=ActionTrace(task.label, seed, prefix), agent="agent", length=length)
        for seed in (0, 1) for prefix in prefixes for length in (3, 12, None)
    ]  # fmt: skip


def naive(task: Task, agent: Agent) -> list[Episode]:
    simulator = open_simulator(task)
    return [run_naively(simulator, {"agent": agent}, one, deterministic=True) for one in work(task)]


def run(task: Task, agent: Agent, backend: str) -> list[Episode]:
    workers = 2 if backend == "processes" else None
    with Engine(task, {"agent": agent}, backend=backend, workers=workers) as engine:
        return engine.run(work(task))


@pytest.mark.parametrize("backend", ["inline", "processes"])
@pytest.mark.parametrize("kind", ["box", "dict", "tuple"])
def test_a_function_that_changes_its_observation_plays_as_one_that_does_not(kind: str, backend: str) -> None:
    task = drift(kind)
    assert conformance_of(task).deterministic
    expected = naive(task, tr.load_agent(careful, task))
    found = run(task, tr.load_agent(careless, task), backend)
    assert_same(found, expected)
    assert_same(naive(task, tr.load_agent(careless, task)), expected)
    assert len({episode.actions for episode in expected}) > 10


class Enclosed(Drift):
    """Shows arrays that a function holds: a snapshot keeps functions as they are."""

    def __init__(self) -> None:
        super().__init__("box")
        shown, allowed = np.zeros(SIZE), np.ones(3, np.int8)

        def show(numbers: Any) -> tuple[Any, dict[str, Any]]:
            shown[:] = numbers
            allowed[:] = 1, numbers[0] > 2, numbers[0] < 9
            return shown, {"action_mask": allowed}

        self.show = show

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.show(self.more)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        _, reward, terminated, truncated, _ = super().step(action)
        observation, info = self.show(self.more)
        return observation, reward, terminated, truncated, info


def allowed(observation: Any, mask: Any) -> int:
    choices = np.flatnonzero(mask)
    return int(choices[careful(observation, mask) % len(choices)])


@pytest.mark.parametrize("lanes", [1, 5])
def test_arrays_that_a_function_of_the_environment_holds_are_nobody_elses(lanes: int) -> None:
    task = Task(name="enclosed", make_env=Enclosed, goal=never, unsafe=far)
    agent = tr.load_agent(allowed, task)
    assert not conformance_of(task).transferable
    with Engine(task, {"agent": agent}, backend="inline", lanes=lanes) as engine:
        assert_same(engine.run(work(task)), naive(task, agent))


def test_a_snapshot_keeps_what_was_told_there() -> None:
    simulator = open_simulator(Task(name="enclosed", make_env=Enclosed, goal=never, unsafe=far))
    simulator.reset(1)
    here, told = simulator.save(), simulator.info["action_mask"].copy()
    for _ in range(6):
        simulator.step(2)
    assert not np.array_equal(simulator.info["action_mask"], told)
    simulator.load(here)
    np.testing.assert_array_equal(simulator.info["action_mask"], told)


def scaled(observation: Any, mask: Any) -> None:
    array = leaf(observation)
    array /= 255


def replaced(observation: Any, mask: Any) -> None:
    observation["more"]["b"] = None


def masked(observation: Any, mask: Any) -> None:
    mask[0] = 0


@pytest.mark.parametrize("backend", ["inline", "processes"])
@pytest.mark.parametrize(
    ("kind", "change"), [("box", scaled), ("dict", scaled), ("tuple", scaled), ("dict", replaced), ("box", masked)]
)
def test_an_agent_of_batches_that_changes_what_it_is_shown_is_told_the_rule(
    kind: str, change: Callable[[Any, Any], Any], backend: str
) -> None:
    task, agent = drift(kind), Careless(change)
    found = run(task, agent, backend)
    assert_same(found, naive(task, agent))
    for episode in found:
        assert "AgentFailure: agent 'careless' changed its observation: " in str(episode.error)
        assert "observation = observation / 255" in str(episode.error)


class Reusing(Careless):
    """Writes every answer into the same array."""

    name, fingerprint = "reusing", "reusing"

    def __init__(self) -> None:
        self.answers = np.zeros((64, 1), np.float32)

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        for place, observation in enumerate(observations):
            self.answers[place] = np.sin(7 * observation[0] + 50 * observation[1])
        return Answer(self.answers[: len(observations)], [None] * len(observations))  # type: ignore[arg-type]


def test_what_an_agent_played_is_written_down_though_it_uses_its_array_again() -> None:
    task = Task(name="car", make_env=lambda: gym.make("MountainCarContinuous-v0", max_episode_steps=40), goal=far,
                unsafe=never, actions=((-1.0,), (0.0,), (1.0,)))  # fmt: skip
    starts = [ActionTrace(task.label, seed, ((0.0,),) * length) for seed in (0, 1) for length in range(4)]
    rollouts = [Rollout(start=start, agent="agent") for start in starts]
    simulator = open_simulator(task)
    with Engine(task, {"agent": Reusing()}) as engine:
        found = engine.run(rollouts)
    assert_same(found, [run_naively(simulator, {"agent": Reusing()}, one, deterministic=True) for one in rollouts])
    for episode in found:
        simulator.reset(episode.rollout.start.seed)
        rewards = [simulator.advance(action) for action in (*episode.rollout.start.actions, *episode.actions)]
        assert tuple(rewards[episode.prefix_steps :]) == episode.rewards


def spoiling(*arguments: Any) -> Any:
    observation = arguments[0].observation if len(arguments) == 1 else arguments[1]
    observation *= 0
    return False


@pytest.mark.parametrize("role", ["unsafe", "goal", "state_key", "identity"])
def test_a_part_of_a_task_that_changes_the_observation_is_named(role: str) -> None:
    task = drift(**{role: spoiling}) if role != "goal" else drift().with_options(goal=spoiling)
    with pytest.raises(TaskError, match=rf"^{role} of task drift-box raised ValueError.*read-only\. Observations are"):
        conformance_of(task)


def test_copies_of_read_only_observations_are_anybodys_own() -> None:
    import copy
    import pickle

    simulator = open_simulator(drift("dict"))
    simulator.reset(1)
    for made in (copy.deepcopy, lambda shown: pickle.loads(pickle.dumps(shown)), copy.copy, dict):
        own = made(simulator.observation)
        own["a"] = 7
        assert type(own) is dict
    with pytest.raises(TypeError, match="read-only"):
        simulator.observation["a"] = 7
