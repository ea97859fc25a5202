"""A network is asked once about the same picture, and what it answers stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tests.agents.networks import Graph, dense_network
from tightrope.agents.behaviour import Behaviour
from tightrope.agents.formats.onnx import OnnxFile
from tightrope.agents.networks import recollection
from tightrope.agents.networks.action_heads import head_for
from tightrope.agents.networks.batch_invariance import ALL_SIZES, Arrays
from tightrope.agents.networks.network_agent import NetworkAgent, NetworkParts
from tightrope.agents.networks.recollection import Recollection, content_of
from tightrope.agents.spaces import TaskSpaces

PICTURES = gym.spaces.Box(0, 255, (32, 32), np.uint8)
ACTIONS = gym.spaces.Discrete(5)
WEIGHTS = np.random.default_rng(0).normal(size=(32 * 32, 5)).astype(np.float32)


class Counting:
    """A network whose last digits hang on the size of the batch, and which counts the rows it is asked about."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, arrays: Arrays) -> Arrays:
        (rows,) = arrays
        self.rows += len(rows)
        scores = rows.reshape(len(rows), -1).astype(np.float32) @ WEIGHTS
        return (scores * np.float32(1 + 1e-7 * (len(rows) % 3)),)


def agent(network: Any, *, function: bool, space: gym.Space[Any] = PICTURES, **behaviour: Any) -> NetworkAgent:
    return NetworkAgent(
        NetworkParts(network=network, head=head_for(ACTIONS), sizes=ALL_SIZES, function=function),
        TaskSpaces(task="test", observation=space, action=ACTIONS),
        Behaviour(**behaviour),
        name="test",
        fingerprint="test",
    )


def pictures(count: int) -> list[np.ndarray]:
    return list(np.random.default_rng(1).integers(0, 256, (count, 32, 32), dtype=np.uint8))


def answered(asked: NetworkAgent, batches: Sequence[Sequence[np.ndarray]]) -> list[Any]:
    """With copies, since the very same object would be known for what it is."""
    found: list[Any] = []
    for number, batch in enumerate(batches):
        nothing = [None] * len(batch)
        streams = [np.random.default_rng([number, place]) for place in range(len(batch))]
        found += asked.act([picture.copy() for picture in batch], nothing, streams, nothing).actions
    return found


@pytest.mark.parametrize("behaviour", [{}, {"epsilon": 0.3}, {"kind": "sampled"}])
def test_a_picture_that_was_met_before_is_not_asked_about_again(behaviour: dict[str, Any]) -> None:
    shown = pictures(6)
    batches = [shown[:4], [shown[0], shown[4], shown[0]], shown[::-1], shown[2:3]]
    networks = Counting(), Counting()
    agents = [agent(network, function=bool(place), **behaviour) for place, network in enumerate(networks)]
    loading = [network.rows for network in networks]
    assert answered(agents[0], batches) == answered(agents[1], batches)
    again = [one.asked_again for one in agents]
    assert [network.rows - before for network, before in zip(networks, loading, strict=True)] == [
        14 + again[0],
        6 + again[1],
    ]


def test_observations_of_a_few_numbers_are_not_remembered() -> None:
    few = gym.spaces.Box(-1, 1, (4,), np.float32)
    assert not recollection.worth_remembering(few)
    assert not recollection.worth_remembering(gym.spaces.Dict({"picture": PICTURES}))
    assert recollection.worth_remembering(PICTURES)


def test_the_oldest_answers_are_forgotten_and_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recollection, "MOST_KEPT", 2)
    met, asked, shown = Recollection(), [], pictures(3)

    def ask(new: Sequence[Any]) -> Arrays:
        asked.append(len(new))
        return (np.array([[picture.sum()] for picture in new]),)

    for batch in (shown, shown[1:], shown[:1]):
        (said,) = met.answers(batch, ask)
        assert said.ravel().tolist() == [picture.sum() for picture in batch]
    assert asked == [3, 1]
    assert (met.asked, met.recalled) == (6, 2)


def test_where_no_picture_comes_twice_remembering_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recollection, "TRIED", 8)
    met = Recollection()
    met.answers(pictures(7), lambda new: (np.zeros((len(new), 1)),))
    assert met.helps
    met.answers(pictures(9)[7:], lambda new: (np.zeros((len(new), 1)),))
    assert not met.helps


def test_an_observation_that_knows_its_content_is_not_looked_at() -> None:
    class Drawn:
        def content(self) -> bytes:
            return b"known"

        def __array__(self, *_: Any, **__: Any) -> Any:
            raise AssertionError

    assert content_of(Drawn()) == b"known"
    one, other = pictures(2)
    assert content_of(one) == content_of(one.copy()) != content_of(other)
    assert content_of(one) != content_of(one.T)


def test_networks_that_draw_are_asked_every_time(tmp_path: Path) -> None:
    spaces = TaskSpaces(task="test", observation=gym.spaces.Box(-1, 1, (3,), np.float32), action=ACTIONS)
    assert OnnxFile(dense_network(tmp_path / "quiet.onnx", 3, 5)).parts(spaces).function
    graph = Graph()
    scores = graph.dense("observation", 3, 5, relu=False)
    drawn = graph.node("Add", [scores, graph.node("RandomNormalLike", [scores])])
    path = graph.save(tmp_path / "drawing.onnx", {"scores": (drawn, ["n", 5])}, shape=["n", 3])
    assert not OnnxFile(path).parts(spaces).function
