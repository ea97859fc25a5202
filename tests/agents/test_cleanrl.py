"""CleanRL's files as its scripts save them, with networks written as its scripts write them."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.agents.networks import scratch
from tests.agents.tasks import FRAMES, MOVES, SWITCHES, TORQUES, VECTOR, noise_task
from tightrope.errors import AgentError, FormatError, TrustRequired
from tightrope.testing import AgentContract
from tightrope.testing.agent_contract import ask, walk

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.distributions import Categorical, Normal  # noqa: E402

torch.set_num_threads(1)


def dense(*widths: int, activation: Any) -> nn.Sequential:
    layers: list[Any] = []
    for given, out in itertools.pairwise(widths):
        layers += [nn.Linear(given, out), activation()]
    return nn.Sequential(*layers[:-1])


def pictures(*last: Any) -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(4, 32, 8, stride=4), nn.ReLU(), nn.Conv2d(32, 64, 4, stride=2), nn.ReLU()),
        *(nn.Conv2d(64, 64, 3, stride=1), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), *last),
    )


class Agent(nn.Module):
    """ppo.py"""

    def __init__(self, envs: Any) -> None:
        super().__init__()
        self.critic = dense(int(np.prod(envs.single_observation_space.shape)), 64, 64, 1, activation=nn.Tanh)
        self.actor = dense(
            int(np.prod(envs.single_observation_space.shape)), 64, 64, envs.single_action_space.n, activation=nn.Tanh
        )

    def get_action_and_value(self, x: Any, action: Any = None) -> Any:
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


class ContinuousAgent(nn.Module):
    """ppo_continuous_action.py"""

    def __init__(self, envs: Any) -> None:
        super().__init__()
        inputs, outputs = envs.single_observation_space.shape[0], envs.single_action_space.shape[0]
        self.critic = dense(inputs, 64, 64, 1, activation=nn.Tanh)
        self.actor_mean = dense(inputs, 64, 64, outputs, activation=nn.Tanh)
        self.actor_logstd = nn.Parameter(torch.full((1, outputs), -0.3))

    def get_action_and_value(self, x: Any, action: Any = None) -> Any:
        mean = self.actor_mean(x)
        probs = Normal(mean, torch.exp(self.actor_logstd.expand_as(mean)))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action).sum(1), probs.entropy().sum(1), self.critic(x)


class AtariAgent(nn.Module):
    """ppo_atari.py"""

    def __init__(self, envs: Any) -> None:
        super().__init__()
        self.network = pictures()
        self.actor, self.critic = nn.Linear(512, envs.single_action_space.n), nn.Linear(512, 1)

    def get_action_and_value(self, x: Any, action: Any = None) -> Any:
        hidden = self.network(x / 255.0)
        probs = Categorical(logits=self.actor(hidden))
        return probs.sample(), None, probs.entropy(), self.critic(hidden)


class QNetwork(nn.Module):
    """dqn.py"""

    def __init__(self, env: Any) -> None:
        super().__init__()
        self.network = dense(
            env.single_observation_space.shape[0], 120, 84, env.single_action_space.n, activation=nn.ReLU
        )

    def forward(self, x: Any) -> Any:
        return self.network(x)


class AtariQNetwork(nn.Module):
    """dqn_atari.py"""

    def __init__(self, env: Any) -> None:
        super().__init__()
        self.network = pictures(nn.Linear(512, env.single_action_space.n))

    def forward(self, x: Any) -> Any:
        return self.network(x / 255.0)


class C51Network(nn.Module):
    """c51.py"""

    def __init__(self, env: Any) -> None:
        super().__init__()
        self.register_buffer("atoms", torch.linspace(-100, 100, steps=101))
        self.n = int(env.single_action_space.n)
        self.network = dense(env.single_observation_space.shape[0], 120, 84, self.n * 101, activation=nn.ReLU)

    def get_action(self, x: Any) -> Any:
        chances = torch.softmax(self.network(x).view(len(x), self.n, 101), dim=2)
        return torch.argmax((chances * self.atoms).sum(2), 1)


class Actor(nn.Module):
    """td3_continuous_action.py, as it was when it read the bounds of a vector environment."""

    def __init__(self, env: Any) -> None:
        super().__init__()
        space = env.single_action_space
        self.fc1, self.fc2 = nn.Linear(env.single_observation_space.shape[0], 256), nn.Linear(256, 256)
        self.fc_mu = nn.Linear(256, space.shape[0])
        self.register_buffer("action_scale", torch.tensor((space.high - space.low)[None] / 2.0))
        self.register_buffer("action_bias", torch.tensor((space.high + space.low)[None] / 2.0))

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.fc2(torch.relu(self.fc1(x))))
        return torch.tanh(self.fc_mu(x)) * self.action_scale + self.action_bias


class SoftActor(nn.Module):
    """sac_continuous_action.py"""

    def __init__(self, env: Any) -> None:
        super().__init__()
        space = env.single_action_space
        self.fc1, self.fc2 = nn.Linear(env.single_observation_space.shape[0], 256), nn.Linear(256, 256)
        self.fc_mean, self.fc_logstd = nn.Linear(256, space.shape[0]), nn.Linear(256, space.shape[0])
        self.register_buffer("action_scale", torch.tensor((space.high - space.low) / 2.0))
        self.register_buffer("action_bias", torch.tensor((space.high + space.low) / 2.0))

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.fc2(torch.relu(self.fc1(x))))
        return self.fc_mean(x), -5 + 0.5 * 7 * (torch.tanh(self.fc_logstd(x)) + 1)

    def get_action(self, x: Any) -> Any:
        mean, _ = self(x)
        return torch.tanh(mean) * self.action_scale + self.action_bias


def made(kind: Any, observation: Any, action: Any) -> Any:
    torch.manual_seed(1)
    return kind(SimpleNamespace(single_observation_space=observation, single_action_space=action))


def saved(content: Any, name: str = "agent") -> str:
    path = scratch() / f"{name}.cleanrl_model"
    torch.save(content, path)
    return str(path)


def best(kind: Any, module: Any, x: Any) -> Any:
    """What CleanRL's network prefers, asked as CleanRL asks it."""
    if kind in (Agent, AtariAgent):
        features = x if kind is Agent else module.network(x / 255.0)
        return module.actor(features).argmax(1)
    if kind is ContinuousAgent:
        return module.actor_mean(x)
    if kind in (C51Network, SoftActor):
        return module.get_action(x)
    return module(x).argmax(1) if kind in (QNetwork, AtariQNetwork) else module(x)


STOCK = [
    (Agent, VECTOR, MOVES, lambda module: module.state_dict()),
    (ContinuousAgent, VECTOR, TORQUES, lambda module: module.state_dict()),
    (AtariAgent, FRAMES, MOVES, lambda module: module.state_dict()),
    (QNetwork, VECTOR, MOVES, lambda module: module.state_dict()),
    (AtariQNetwork, FRAMES, MOVES, lambda module: module.state_dict()),
    (C51Network, VECTOR, MOVES, lambda module: {"model_weights": module.state_dict(), "args": {"seed": 1}}),
    (Actor, VECTOR, TORQUES, lambda module: (module.state_dict(), {"fc1.weight": torch.zeros(2)})),
    (SoftActor, VECTOR, TORQUES, lambda module: module.state_dict()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "observation", "action", "content"), STOCK, ids=lambda one: getattr(one, "__doc__", "")
)
def test_a_file_of_a_script_answers_as_its_network(kind: Any, observation: Any, action: Any, content: Any) -> None:
    module = made(kind, observation, action)
    task = noise_task(observation, action)
    agent = tr.load_agent(saved(content(module), kind.__name__), task)
    observations = walk(task)[:9]
    with torch.inference_mode():
        expected = best(kind, module, torch.from_numpy(np.stack(observations)).float()).numpy()
    answers = np.array([np.asarray(one) for one in ask(agent, observations).actions])
    if isinstance(action, gym.spaces.Box):
        np.testing.assert_allclose(answers, np.clip(expected, action.low, action.high), rtol=1e-5, atol=1e-6)
    else:
        assert answers.tolist() == expected.tolist()
    assert agent.deterministic


class TestPpo(AgentContract):
    def make_task(self) -> Any:
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task: Any) -> Any:
        return tr.load_agent(saved(made(Agent, VECTOR, MOVES).state_dict(), "contract"), task, behaviour="sampled")


class TestLivePpo(AgentContract):
    def make_task(self) -> Any:
        return noise_task(VECTOR, TORQUES)

    def make_agent(self, task: Any) -> Any:
        return tr.load_agent(made(ContinuousAgent, VECTOR, TORQUES), task, behaviour="sampled")


@pytest.mark.parametrize(
    ("kind", "observation", "action"), [stock[:3] for stock in STOCK if stock[0] is not C51Network]
)
def test_a_live_network_answers_as_its_file(kind: Any, observation: Any, action: Any) -> None:
    module, task = made(kind, observation, action), noise_task(observation, action)
    file = tr.load_agent(saved(module.state_dict(), "live"), task, behaviour="greedy")
    live = tr.load_agent(module, task)
    observations = walk(task)[:9]
    for one, other in zip(ask(file, observations).actions, ask(live, observations).actions, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-5, atol=1e-6)


def test_draws_follow_the_distribution_of_a_live_agent() -> None:
    module, task = made(Agent, VECTOR, MOVES), noise_task(VECTOR, MOVES)
    module.actor[4].bias.data = torch.tensor([0.0, 2.0, -3.0, 1.0])
    agent = tr.load_agent(module, task, behaviour="sampled")
    observation = walk(task)[0]
    drawn = ask(agent, [observation] * 2000).actions
    with torch.inference_mode():
        chances = torch.softmax(module.actor(torch.from_numpy(observation)[None]), 1)[0].numpy()
    shares = np.bincount(np.array(drawn), minlength=4) / 2000
    # Five standard deviations of a share of 2000 draws.
    assert np.all(np.abs(shares - chances) < 5 * np.sqrt(0.25 / 2000))


def test_asking_leaves_torch_as_it_was() -> None:
    before = (Categorical.sample, vars(Normal).get("sample"), Normal.rsample, torch.get_rng_state().clone())
    task = noise_task(VECTOR, MOVES)
    module = made(Agent, VECTOR, MOVES)
    state = torch.get_rng_state().clone()
    ask(tr.load_agent(module, task), walk(task))
    assert (Categorical.sample, vars(Normal).get("sample"), Normal.rsample) == before[:3]
    assert torch.equal(torch.get_rng_state(), state)


def test_a_network_of_another_width_asks_for_its_class() -> None:
    wider = {**dense(5, 128, 128, 4, activation=nn.Tanh).state_dict()}
    path = saved({f"actor.{name}": tensor for name, tensor in wider.items()}, "wider")
    with pytest.raises(AgentError, match=r"--agent .*wider\.cleanrl_model@package\.module:Agent"):
        tr.load_agent(path, noise_task(VECTOR, MOVES))


def test_a_class_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = made(Agent, VECTOR, MOVES)
    path = saved(module.state_dict(), "named")
    task = noise_task(VECTOR, MOVES)
    named = tr.load_agent(f"{path}@{__name__}:Agent", task)
    assert ask(named, walk(task)).actions == ask(tr.load_agent(path, task), walk(task)).actions


def test_spaces_must_fit() -> None:
    discrete, continuous = (saved(made(kind, VECTOR, space).state_dict(), kind.__name__)
                            for kind, space in ((Agent, MOVES), (SoftActor, TORQUES)))  # fmt: skip
    with pytest.raises(AgentError, match="discrete actions"):
        tr.load_agent(discrete, noise_task(VECTOR, TORQUES))
    with pytest.raises(AgentError, match="continuous actions"):
        tr.load_agent(continuous, noise_task(VECTOR, MOVES))
    with pytest.raises(AgentError, match=r"action_scale \[2.0, 0.5\].*as in training"):
        tr.load_agent(continuous, noise_task(VECTOR, gym.spaces.Box(-1.0, 1.0, (2,), np.float32)))
    with pytest.raises(AgentError, match=r"shape \(4,\).*takes \(5,\)"):
        tr.load_agent(discrete, noise_task(VECTOR, SWITCHES))


def test_files_of_the_jax_scripts_are_named(tmp_path: Path) -> None:
    (tmp_path / "dqn_jax.cleanrl_model").write_bytes(b"\x81\xa6params\x80")
    with pytest.raises(AgentError, match=r"JAX scripts.*module:factory"):
        tr.load_agent(tmp_path / "dqn_jax.cleanrl_model", noise_task(VECTOR, MOVES))


class Spy:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("the file was unpickled",))


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "evil.cleanrl_model"
    torch.save({"model_weights": {}, "args": Spy()}, path)
    with pytest.raises(TrustRequired):
        tr.load_agent(path, noise_task(VECTOR, MOVES))
    torch.save([1, 2], path)
    with pytest.raises(FormatError, match="not a state_dict"):
        tr.load_agent(path, noise_task(VECTOR, MOVES))
    path.write_bytes(pickle.dumps(Spy()))
    with pytest.raises(AgentError, match="not a torch file"):
        tr.load_agent(path, noise_task(VECTOR, MOVES))


def test_normalisation_goes_with_any_file(tmp_path: Path) -> None:
    from tightrope.agents.networks.normalisation import Normalisation, save_normalisation

    module, task = made(ContinuousAgent, VECTOR, TORQUES), noise_task(VECTOR, TORQUES)
    statistics = Normalisation(means={"observation": np.full(5, 0.5)}, variances={"observation": np.full(5, 4.0)})
    save_normalisation(statistics, tmp_path / "statistics.npz")
    agent = tr.load_agent(f"{saved(module.state_dict(), 'normalised')}+{tmp_path / 'statistics.npz'}", task)
    observations = walk(task)[:5]
    scaled = ((np.stack(observations) - 0.5) / np.sqrt(4.0 + 1e-8)).astype(np.float32)
    with torch.inference_mode():
        expected = module.actor_mean(torch.from_numpy(scaled)).numpy()
    answers = np.array(ask(agent, observations).actions)
    np.testing.assert_allclose(answers, np.clip(expected, TORQUES.low, TORQUES.high), rtol=1e-5, atol=1e-6)
