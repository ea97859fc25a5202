"""What agents want: the numbers behind their actions, where they have any."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.agents.networks import deciding_network, dense_network, gaussian_network
from tests.agents.tasks import MOVES, TORQUES, VECTOR, noise_task
from tightrope.agents.action_names import TranslatedAgent
from tightrope.agents.networks.action_heads import CategoricalHead
from tightrope.agents.preferences import Meaning, Preferences, preferences_of
from tightrope.errors import AgentFailure
from tightrope.testing import ConstantAgent
from tightrope.testing.agent_contract import ask, walk

SCORES = (np.array([[1.0, 3.0, 2.0]]),)


def test_scores_are_told_as_what_they_are() -> None:
    space = gym.spaces.Discrete(3, start=5)
    valued = CategoricalHead(space, Meaning.VALUES).preferences(SCORES, None)
    assert valued.by_action == {5: 1.0, 6: 3.0, 7: 2.0}
    likely = CategoricalHead(space, Meaning.PROBABILITIES).preferences(SCORES, None)
    assert sum(likely.by_action.values()) == pytest.approx(1.0)
    assert likely.by_action[6] == pytest.approx(np.exp(3) / np.exp([1, 2, 3]).sum())


def test_actions_that_are_not_available_are_left_out_and_take_no_share() -> None:
    likely = CategoricalHead(gym.spaces.Discrete(3), Meaning.PROBABILITIES).preferences(SCORES, np.array([1, 0, 1]))
    assert set(likely.by_action) == {0, 2}
    assert sum(likely.by_action.values()) == pytest.approx(1.0)


def test_the_margin_is_to_the_best_liked_of_the_better() -> None:
    wanted = Preferences(meaning=Meaning.VALUES, by_action={0: 5.0, 1: 4.0, 2: 1.0})
    assert wanted.margin(0, (1, 2)) == 1.0
    assert wanted.margin(0, (2,)) == 4.0
    assert wanted.margin(0, (7,)) is None
    assert wanted.margin(7, (1,)) is None


@pytest.mark.parametrize(
    ("output", "metadata", "meaning"),
    [
        ("q_values", {}, Meaning.VALUES),
        ("logits", {}, Meaning.PROBABILITIES),
        ("scores", {"algorithm": "double DQN"}, Meaning.VALUES),
        ("scores", {"algorithm": "PPO"}, Meaning.PROBABILITIES),
        ("scores", {}, Meaning.SCORES),
    ],
)
def test_an_onnx_file_says_what_its_numbers_are(
    tmp_path: Path, output: str, metadata: dict[str, str], meaning: Meaning
) -> None:
    import onnx

    task = noise_task(VECTOR, MOVES)
    path = dense_network(tmp_path / "agent.onnx", 5, 4, metadata=metadata)
    network = onnx.load(path)
    network.graph.output[0].name = network.graph.node[-1].output[0] = output
    onnx.save(network, path)
    agent = tr.load_agent(path, task)
    for observation in walk(task, 3):
        wanted = preferences_of(agent, observation, None, None)
        assert wanted.meaning is meaning
        assert max(wanted.by_action, key=wanted.by_action.get) == ask(agent, [observation]).actions[0]


def test_what_has_no_number_for_each_action_says_so(tmp_path: Path) -> None:
    moves, torques = noise_task(VECTOR, MOVES), noise_task(VECTOR, TORQUES)
    decides = tr.load_agent(deciding_network(tmp_path / "decides.onnx", 5, 4), moves)
    assert preferences_of(decides, walk(moves, 1)[0], None, None) is None
    switches = noise_task(VECTOR, gym.spaces.MultiDiscrete([9, 9]))
    many = tr.load_agent(dense_network(tmp_path / "many.onnx", 5, 18), switches)
    assert preferences_of(many, walk(switches, 1)[0], None, None) is None
    pushes = tr.load_agent(gaussian_network(tmp_path / "pushes.onnx", 5, 2), torques)
    wanted = preferences_of(pushes, walk(torques, 1)[0], None, None)
    assert wanted.mean == ask(pushes, walk(torques, 1)).actions[0]
    assert len(wanted.spread) == 2
    assert wanted.by_action == {}
    assert preferences_of(ConstantAgent(0), None, None, None) is None


class Opinionated(ConstantAgent):
    """An agent of a user's own that tells what it wants."""

    def __init__(self, answer: Any) -> None:
        super().__init__(0, "opinionated")
        self.answer = answer

    def preferences(self, observations: Sequence[Any], memories: Sequence[Any], masks: Sequence[Any]) -> Sequence[Any]:
        return [self.answer() for _ in observations]


def test_an_agent_of_ones_own_may_tell_numbers() -> None:
    assert preferences_of(Opinionated(lambda: {0: 1, 1: 2.5}), 0, None, None).by_action == {0: 1.0, 1: 2.5}
    assert preferences_of(Opinionated(lambda: None), 0, None, None) is None
    with pytest.raises(AgentFailure, match=r"opinionated.*allowed are a number for each action"):
        preferences_of(Opinionated(lambda: "left"), 0, None, None)
    with pytest.raises(AgentFailure, match="ZeroDivisionError"):
        preferences_of(Opinionated(lambda: 1 / 0), 0, None, None)


def test_an_agent_with_actions_of_its_own_tells_of_the_tasks() -> None:
    translated = TranslatedAgent(Opinionated(lambda: {0: 1.0, 1: 2.0}), (4, 2))
    assert preferences_of(translated, 0, None, None).by_action == {4: 1.0, 2: 2.0}


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("dqn", Meaning.VALUES),
        ("qrdqn", Meaning.VALUES),
        ("ppo", Meaning.PROBABILITIES),
        ("a2c", Meaning.PROBABILITIES),
        ("recurrent", Meaning.PROBABILITIES),
        ("ars-linear", Meaning.SCORES),
    ],
)
def test_policies_of_stable_baselines_tell_what_they_have(name: str, meaning: Meaning) -> None:
    models = pytest.importorskip("tests.agents.test_sb3")
    task = models.task_of(name)
    agent, observation = tr.load_agent(models.saved(name), task), walk(task, 1)[0]
    wanted = preferences_of(agent, observation, None, None)
    assert wanted.meaning is meaning
    assert max(wanted.by_action, key=wanted.by_action.get) == ask(agent, [observation]).actions[0]
    if meaning is Meaning.PROBABILITIES:
        assert sum(wanted.by_action.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(("name", "spread"), [("sac", True), ("td3", False)])
def test_continuous_policies_tell_their_point_and_its_spread(name: str, spread: bool) -> None:
    models = pytest.importorskip("tests.agents.test_sb3")
    task = models.task_of(name)
    agent, observation = tr.load_agent(models.saved(name), task), walk(task, 1)[0]
    wanted = preferences_of(agent, observation, None, None)
    assert wanted.mean == ask(agent, [observation]).actions[0]
    assert bool(wanted.spread) is spread
