"""Networks of torch, Stable-Baselines3 and ONNX, written down for JAX, choose what the originals choose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cloudpickle
import gymnasium as gym
import numpy as np
import pytest
from onnx import numpy_helper

import tightrope as tr
from tests.agents.networks import Graph, cell_network, deciding_network, dense_network, picture_network
from tests.agents.tasks import CELLS, FRAMES, MOVES, PICTURE, TORQUES, VECTOR, noise_task
from tightrope.agents.formats.onnx_graph import OPERATORS
from tightrope.errors import AgentError
from tightrope.testing.agent_contract import ask, walk

pytest.importorskip("jax")
torch = pytest.importorskip("torch")
nn = torch.nn


def loud(module: Any) -> Any:
    """Other weights, always the same: those that layers begin with give nearly equal scores."""
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for parameter in module.parameters():
            drawn = rng.normal(0, 1 / parameter.shape[-1] ** 0.5, parameter.shape)
            parameter.copy_(torch.from_numpy(drawn.astype(np.float32)))
    return module


def dense() -> Any:
    return loud(
        nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Sequential(nn.Linear(32, 16), nn.SiLU()), nn.Linear(16, 4))
    )


def picture() -> Any:
    return loud(
        nn.Sequential(
            nn.Conv2d(3, 8, (4, 2), stride=(2, 1), padding=(1, 0), dilation=(2, 1)), nn.ReLU(),
            nn.Conv2d(8, 4, 3, bias=False, padding="valid"), nn.Sigmoid(), nn.Flatten(), nn.Linear(1848, 4),
        )
    )  # fmt: skip


class Floats(nn.Module):
    def forward(self, observations: Any) -> Any:
        return observations.float()


def require_same(agent: Any, task: tr.Task, number: int) -> None:
    network = tr.JaxNetwork.converted(agent)
    again = tr.load_agent(cloudpickle.loads(cloudpickle.dumps(network)), task)
    observations = walk(task, number)
    expected = list(ask(agent, observations).actions)
    assert len(set(expected)) > 1
    assert list(ask(again, observations).actions) == expected
    require_same_scores(network, agent, np.stack(observations)[:20])


def require_same_scores(network: Any, agent: Any, observations: Any) -> None:
    (scores,), (original,) = network((observations,)), agent.network((observations,))
    scores, original = (part - part.max(axis=1, keepdims=True) for part in (scores, original))
    assert np.allclose(scores, original, atol=1e-4 * max(1.0, float(np.abs(original).max())))


def test_dense_layers() -> None:
    task = noise_task(VECTOR, MOVES)
    require_same(tr.load_agent(dense(), task), task, 300)


@pytest.mark.parametrize(("algorithm", "policy"), [("PPO", "MlpPolicy"), ("PPO", "CnnPolicy"), ("DQN", "MlpPolicy")])
def test_policies_of_stable_baselines(algorithm: str, policy: str) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    task = noise_task(PICTURE if policy == "CnnPolicy" else VECTOR, MOVES)
    options = {"buffer_size": 10} if algorithm == "DQN" else {}
    model = getattr(sb3, algorithm)(policy, task.make_env(), device="cpu", seed=0, **options)
    loud(model.policy)
    require_same(tr.load_agent(model, task), task, 60)


def test_convolutions() -> None:
    observations = np.random.default_rng(0).normal(size=(7, 3, 36, 36)).astype(np.float32)
    module = picture()
    expected = module(torch.from_numpy(observations)).detach().numpy()
    from tightrope.agents.formats.jax_conversion import _layers, apply

    found = list(_layers(module))
    given = tuple(kind for kind, _ in found), tuple(weights for _, weights in found)
    assert np.allclose(apply(*given, observations), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("module", "named"),
    [
        (lambda: nn.Sequential(nn.Linear(5, 8), nn.LayerNorm(8), nn.Linear(8, 4)), "LayerNorm"),
        (lambda: nn.Sequential(Floats(), nn.Linear(5, 4)), "Floats"),
    ],
    ids=["a layer of torch", "a module of the user's"],
)
def test_a_layer_that_is_not_known_is_named(module: Any, named: str) -> None:
    with pytest.raises(AgentError, match=f"{named} is not a layer that can be converted"):
        tr.JaxNetwork.converted(tr.load_agent(module(), noise_task(VECTOR, MOVES)))


def test_other_agents_are_refused() -> None:
    task = noise_task(VECTOR, MOVES)
    with pytest.raises(AgentError, match="and no network"):
        tr.JaxNetwork.converted(tr.load_agent(lambda observation: 0, task))
    steering = nn.Sequential(nn.Linear(5, int(np.prod(TORQUES.shape))))
    with pytest.raises(AgentError, match="only those of a Discrete space"):
        tr.JaxNetwork.converted(tr.load_agent(steering, noise_task(VECTOR, TORQUES)))


GALLERY = Path(__file__).parent.parent.parent / "agents" / "gallery"
SPACES = {
    "cartpole": (gym.spaces.Box(-2, 2, (4,), np.float32), 2),
    "lunarlander": (gym.spaces.Box(-1.5, 1.5, (8,), np.float32), 4),
    "highway": (gym.spaces.Box(-1, 1, (5, 5), np.float32), 5),
    "minigrid": (gym.spaces.Box(0, 10, (7, 7, 3), np.uint8), 7),
    "freeway": (gym.spaces.Box(0, 255, (128,), np.uint8), 3),
}


@pytest.mark.parametrize("name", SPACES)
def test_onnx_agents_of_the_gallery(name: str) -> None:
    observations, number = SPACES[name]
    task = noise_task(observations, gym.spaces.Discrete(number))
    require_same(tr.load_agent(GALLERY / f"{name}-late.onnx", task), task, 100)


def test_an_onnx_file_of_convolutions(tmp_path: Path) -> None:
    task = noise_task(FRAMES, MOVES)
    agent = tr.load_agent(picture_network(tmp_path / "a.onnx", 4), task)
    require_same_scores(tr.JaxNetwork.converted(agent), agent, np.stack(walk(task, 3)))


def test_an_onnx_file_of_many_operators_made_for_one_row(tmp_path: Path) -> None:
    graph = Graph()
    graph.weights += [numpy_helper.from_array(np.array([1, 8, 1, 4]), "shape")]
    hidden = graph.node("LeakyRelu", [graph.dense("observation", 5, 32, relu=False)], alpha=0.3)
    square = graph.node("Transpose", [graph.node("Reshape", [hidden, "shape"])], perm=[0, 2, 3, 1])
    flat = graph.node("Elu", [graph.node("Flatten", [square])], alpha=0.7)
    swish = graph.node("Mul", [flat, graph.node("Sigmoid", [flat])])
    scores = graph.node("Add", [graph.node("MatMul", [swish, graph.weight(32, 4)]), graph.weight(4)])
    path = graph.save(tmp_path / "a.onnx", {"scores": (scores, [1, 4])}, shape=[1, 5])
    task = noise_task(VECTOR, MOVES)
    agent = tr.load_agent(path, task)
    network = tr.JaxNetwork.converted(agent)
    observations = walk(task, 100)
    expected = list(ask(agent, observations).actions)
    assert len(set(expected)) > 1
    assert list(ask(tr.load_agent(network, task), observations).actions) == expected


def test_an_onnx_file_with_other_operators_is_refused(tmp_path: Path) -> None:
    task = noise_task(VECTOR, MOVES)
    graph = Graph()
    scores = graph.node("Erf", [graph.dense("observation", 5, 4, relu=False)])
    path = graph.save(tmp_path / "a.onnx", {"scores": (scores, ["n", 4])}, shape=["n", 5])
    with pytest.raises(AgentError, match="the operator Erf is not a layer that can be converted"):
        tr.JaxNetwork.converted(tr.load_agent(path, task))
    with pytest.raises(AgentError, match="answers with actions"):
        tr.JaxNetwork.converted(tr.load_agent(deciding_network(tmp_path / "b.onnx", 5, 4), task))
    cells = noise_task(CELLS, MOVES)
    with pytest.raises(AgentError, match=r"an input of Discrete\(7\) is not a layer"):
        tr.JaxNetwork.converted(tr.load_agent(cell_network(tmp_path / "c.onnx", 7, 4), cells))


def test_a_graph_that_gives_other_scores_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = noise_task(VECTOR, MOVES)
    agent = tr.load_agent(dense_network(tmp_path / "a.onnx", 5, 4), task)
    monkeypatch.setitem(OPERATORS, "Relu", abs)
    with pytest.raises(AgentError, match="gives different scores"):
        tr.JaxNetwork.converted(agent)
