from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.agents.networks import dense_network, scratch
from tests.agents.tasks import VECTOR, noise_task
from tightrope.agents import TranslatedAgent
from tightrope.agents.action_names import declared_actions
from tightrope.agents.spaces import TaskSpaces
from tightrope.errors import AgentError
from tightrope.testing import AgentContract, ConstantAgent
from tightrope.testing.agent_contract import ask, walk

NAMES = ("stay", "left", "right", "jump", "duck")


def named_task():
    return noise_task(VECTOR, gym.spaces.Discrete(5), action_names=NAMES)


def test_an_agent_with_fewer_actions_is_translated_by_name(tmp_path: Path) -> None:
    path = dense_network(tmp_path / "two.onnx", 5, 2, metadata={"action_names": "jump,left"})
    task = named_task()
    agent = tr.load_agent(path, task)
    assert isinstance(agent, TranslatedAgent)
    assert set(ask(agent, walk(task)).actions) == {1, 3}


class TestATranslatedAgent(AgentContract):
    def make_task(self):
        return noise_task(VECTOR, gym.spaces.Discrete(2), action_names=("left", "jump"))

    def make_agent(self, task):
        path = dense_network(scratch() / "two.onnx", 5, 2, metadata={"action_names": "jump,left"})
        return tr.load_agent(path, task, epsilon=0.1)


def test_the_same_actions_need_no_translation(tmp_path: Path) -> None:
    path = dense_network(tmp_path / "all.onnx", 5, 5, metadata={"action_names": ",".join(NAMES)})
    assert not isinstance(tr.load_agent(path, named_task()), TranslatedAgent)


def test_actions_the_task_does_not_offer_are_named(tmp_path: Path) -> None:
    path = dense_network(tmp_path / "fly.onnx", 5, 2, metadata={"action_names": "left,fly"})
    with pytest.raises(AgentError, match=r"\['left', 'fly'\].*\['fly'\] cannot be played"):
        tr.load_agent(path, named_task())


def test_the_name_of_an_action_set_is_resolved() -> None:
    spaces = TaskSpaces(
        task="game(level='1-1')",
        observation=VECTOR,
        action=gym.spaces.Discrete(7),
        action_names=("none", "right", "right+A", "right+B", "right+A+B", "A", "left"),
        action_sets={"2-moves": ("right+B", "right+A+B")},
    )
    assert declared_actions({"actions": "2-moves"}, spaces) == ("right+B", "right+A+B")
    assert declared_actions({}, spaces) is None


def test_masks_are_translated_too() -> None:
    seen = []

    class Watching(ConstantAgent):
        def act(self, observations, memories, generators, masks):
            seen.extend(masks)
            return super().act(observations, memories, generators, masks)

    agent = TranslatedAgent(Watching(1), (4, 2))
    answer = agent.act([0, 0], [None] * 2, [None] * 2, [np.array([0, 0, 1, 0, 0]), None])
    assert list(answer.actions) == [2, 2]
    assert seen[0].tolist() == [False, True]
    assert seen[1] is None
