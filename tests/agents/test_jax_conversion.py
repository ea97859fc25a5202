"""Networks of torch and Stable-Baselines3, written down for JAX, choose what the originals choose."""

from __future__ import annotations

from typing import Any

import cloudpickle
import numpy as np
import pytest

import tightrope as tr
from tests.agents.tasks import MOVES, PICTURE, TORQUES, VECTOR, noise_task
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
    (scores,) = network((np.stack(observations)[:20],))
    (original,) = agent.network((np.stack(observations)[:20],))
    scores, original = (part - part.max(axis=1, keepdims=True) for part in (scores, original))
    assert np.allclose(scores, original, atol=1e-4)


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
    with pytest.raises(AgentError, match=f"{named} is no layer that is known"):
        tr.JaxNetwork.converted(tr.load_agent(module(), noise_task(VECTOR, MOVES)))


def test_other_agents_are_refused() -> None:
    task = noise_task(VECTOR, MOVES)
    with pytest.raises(AgentError, match="and no network"):
        tr.JaxNetwork.converted(tr.load_agent(lambda observation: 0, task))
    steering = nn.Sequential(nn.Linear(5, int(np.prod(TORQUES.shape))))
    with pytest.raises(AgentError, match="only those of a Discrete space"):
        tr.JaxNetwork.converted(tr.load_agent(steering, noise_task(VECTOR, TORQUES)))
