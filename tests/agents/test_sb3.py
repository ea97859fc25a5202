from __future__ import annotations

import base64
import copy
import json
import pickle
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.agents.networks import scratch
from tests.agents.tasks import BITS, CELLS, MOVES, PARTS, PICTURE, SWITCHES, TORQUES, VECTOR, noise_task
from tightrope.errors import AgentError, FormatError, TrustRequired
from tightrope.testing import AgentContract
from tightrope.testing.agent_contract import ask, walk

sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")
torch = pytest.importorskip("torch")

# One thread: the models are tiny, and threads that wait for each other on a busy machine cost seconds.
torch.set_num_threads(1)
pytestmark = pytest.mark.filterwarnings("ignore")

Spaces = tuple[gym.Space[Any], gym.Space[Any]]
SMALL = {"policy_kwargs": {"net_arch": [16, 16]}}
TWO_LAYERS = {"policy_kwargs": {"n_lstm_layers": 2, "lstm_hidden_size": 16}}
OFF_POLICY = {"buffer_size": 10, **SMALL}

# name -> (algorithm, policy, observation, action, options)
MODELS: dict[str, tuple[Any, str, Spaces, dict[str, Any]]] = {
    "ppo": (sb3.PPO, "MlpPolicy", (VECTOR, MOVES), {"policy_kwargs": {"activation_fn": torch.nn.ReLU}}),
    "ppo-picture": (sb3.PPO, "CnnPolicy", (PICTURE, MOVES), {}),
    "ppo-parts": (sb3.PPO, "MultiInputPolicy", (PARTS, MOVES), {}),
    "ppo-cells": (sb3.PPO, "MlpPolicy", (CELLS, MOVES), {}),
    "ppo-switches": (sb3.PPO, "MlpPolicy", (VECTOR, SWITCHES), SMALL),
    "ppo-bits": (sb3.PPO, "MlpPolicy", (VECTOR, BITS), SMALL),
    "ppo-torques": (sb3.PPO, "MlpPolicy", (VECTOR, TORQUES), SMALL),
    "ppo-sde": (sb3.PPO, "MlpPolicy", (VECTOR, TORQUES), {"use_sde": True, **SMALL}),
    "a2c": (sb3.A2C, "MlpPolicy", (VECTOR, MOVES), {}),
    "dqn": (sb3.DQN, "MlpPolicy", (VECTOR, MOVES), OFF_POLICY),
    "dqn-picture": (sb3.DQN, "CnnPolicy", (PICTURE, MOVES), {"buffer_size": 10}),
    "sac": (sb3.SAC, "MlpPolicy", (VECTOR, TORQUES), OFF_POLICY),
    "sac-sde": (sb3.SAC, "MlpPolicy", (VECTOR, TORQUES), {"use_sde": True, **OFF_POLICY}),
    "td3": (sb3.TD3, "MlpPolicy", (VECTOR, TORQUES), OFF_POLICY),
    "ddpg": (sb3.DDPG, "MlpPolicy", (VECTOR, TORQUES), OFF_POLICY),
    "qrdqn": (contrib.QRDQN, "MlpPolicy", (VECTOR, MOVES), OFF_POLICY),
    "trpo": (contrib.TRPO, "MlpPolicy", (VECTOR, MOVES), {}),
    "tqc": (contrib.TQC, "MlpPolicy", (VECTOR, TORQUES), OFF_POLICY),
    "crossq": (contrib.CrossQ, "MlpPolicy", (VECTOR, TORQUES), OFF_POLICY),
    "ars": (contrib.ARS, "MlpPolicy", (VECTOR, TORQUES), {}),
    "ars-linear": (contrib.ARS, "LinearPolicy", (VECTOR, MOVES), {}),
    "maskable": (contrib.MaskablePPO, "MlpPolicy", (VECTOR, MOVES), {}),
    "recurrent": (contrib.RecurrentPPO, "MlpLstmPolicy", (VECTOR, MOVES), {"policy_kwargs": {"lstm_hidden_size": 32}}),
    "recurrent-torques": (
        contrib.RecurrentPPO,
        "MlpLstmPolicy",
        (VECTOR, TORQUES),
        {"policy_kwargs": {"n_lstm_layers": 2}},
    ),
}
NO_DISTRIBUTION = {"td3", "ddpg", "ars"}


@cache
def saved(name: str) -> Path:
    algorithm, policy, spaces, options = MODELS[name]
    path = scratch() / f"{name}.zip"
    model = algorithm(policy, noise_task(*spaces).make_env(), seed=0, device="cpu", **copy.deepcopy(options))
    with torch.no_grad():
        # Fresh policies give nearly equal scores; larger ones make actions differ.
        for parameter in model.policy.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.1)
    model.save(path)
    return path


def task_of(name: str):
    return noise_task(*MODELS[name][2])


def flat(action: Any) -> np.ndarray:
    return np.asarray(action, dtype=np.float64)


def repeated(observation: Any, number: int) -> Any:
    if isinstance(observation, dict):
        return {key: np.stack([part] * number) for key, part in observation.items()}
    return np.stack([observation] * number)


@pytest.mark.parametrize("name", MODELS)
def test_an_archive_is_loaded_without_unpickling_and_plays_like_the_original(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, task = saved(name), task_of(name)
    with monkeypatch.context() as forbidden:
        forbidden.setattr("cloudpickle.loads", lambda *given: pytest.fail("it was unpickled"))
        forbidden.setattr("pickle.loads", lambda *given: pytest.fail("it was unpickled"))
        forbidden.setattr("pickle.load", lambda *given: pytest.fail("it was unpickled"))
        agent = tr.load_agent(path, task)
    model = MODELS[name][0].load(path, device="cpu")
    observations = walk(task)
    for observation, action in zip(observations, ask(agent, observations).actions, strict=True):
        expected, _ = model.predict(observation, deterministic=True)
        assert flat(action) == pytest.approx(flat(expected), abs=2e-5)


@pytest.mark.parametrize("name", sorted(set(MODELS) - NO_DISTRIBUTION))
def test_distributions_are_those_of_the_library(name: str) -> None:
    """The frequencies of many draws agree with those of the library's own sampling."""
    task = task_of(name)
    agent = tr.load_agent(saved(name), task, behaviour="sampled")
    observation = walk(task, 1)[0]
    ours = np.array([flat(a) for a in ask(agent, [observation] * 400).actions]).reshape(400, -1)
    if name in ("dqn", "dqn-picture", "qrdqn", "ars-linear"):
        assert len(np.unique(ours)) > 1, "values have no distribution of their own; draws follow their softmax"
        return
    torch.manual_seed(0)
    model = MODELS[name][0].load(saved(name), device="cpu")
    batch = (
        {key: np.stack([part] * 400) for key, part in observation.items()} if isinstance(observation, dict) else None
    )
    theirs, _ = model.predict(np.stack([observation] * 400) if batch is None else batch, deterministic=False)
    theirs = flat(theirs).reshape(400, -1)
    if not name.endswith("sde"):  # one noise matrix for a whole batch there, so their draws are not independent
        assert ours.mean(axis=0) == pytest.approx(theirs.mean(axis=0), abs=0.25)
        assert ours.std(axis=0) == pytest.approx(theirs.std(axis=0), abs=0.15)


@pytest.mark.parametrize("name", sorted(NO_DISTRIBUTION))
def test_a_policy_without_distribution_cannot_be_sampled(name: str) -> None:
    with pytest.raises(AgentError, match="no distribution"):
        tr.load_agent(saved(name), task_of(name), behaviour="sampled")


class TestGreedy(AgentContract):
    def make_task(self):
        return task_of("ppo")

    def make_agent(self, task):
        return tr.load_agent(saved("ppo"), task)


class TestSampledTorques(AgentContract):
    def make_task(self):
        return task_of("sac")

    def make_agent(self, task):
        return tr.load_agent(saved("sac"), task, behaviour="sampled")


class TestMaskable(AgentContract):
    def make_task(self):
        return task_of("maskable")

    def make_agent(self, task):
        return tr.load_agent(saved("maskable"), task, epsilon=0.2)


class TestRecurrent(AgentContract):
    def make_task(self):
        return task_of("recurrent")

    def make_agent(self, task):
        agent = tr.load_agent(saved("recurrent"), task)
        assert agent.recurrent
        return agent


class TestPictures(AgentContract):
    def make_task(self):
        return task_of("dqn-picture")

    def make_agent(self, task):
        return tr.load_agent(saved("dqn-picture"), task)


class TestALivingModel(AgentContract):
    def make_task(self):
        return task_of("ppo")

    def make_agent(self, task):
        return tr.load_agent(sb3.PPO.load(saved("ppo"), device="cpu"), task)


def test_memory_follows_the_library_through_an_episode() -> None:
    task = task_of("recurrent")
    agent, model = tr.load_agent(saved("recurrent"), task), contrib.RecurrentPPO.load(saved("recurrent"))
    memory, state = None, None
    for step, observation in enumerate(walk(task)):
        answer = agent.act([observation], [memory], [None], [None])
        memory = answer.memories[0]
        expected, state = model.predict(observation, state=state, episode_start=[step == 0], deterministic=True)
        assert answer.actions[0] == int(expected)
        assert np.allclose(memory[0], state[0][:, 0], atol=1e-5)


class Spy:
    """Raises the alarm when unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("the archive was unpickled",))


def test_a_malicious_archive_is_read_and_nothing_runs(tmp_path: Path) -> None:
    alarm = base64.b64encode(pickle.dumps(Spy())).decode()
    path = tmp_path / "evil.zip"
    with zipfile.ZipFile(saved("ppo")) as old, zipfile.ZipFile(path, "w") as new:
        data = json.loads(old.read("data"))
        for value in data.values():
            if isinstance(value, dict) and ":serialized:" in value:
                value[":serialized:"] = alarm
        new.writestr("data", json.dumps(data))
        new.writestr("policy.pth", old.read("policy.pth"))
    tr.load_agent(path, task_of("ppo"))
    with pytest.raises(pytest.fail.Exception):
        tr.load_agent(path, task_of("ppo"), trust=True)


def test_malicious_weights_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "evil.zip"
    with zipfile.ZipFile(saved("ppo")) as old, zipfile.ZipFile(path, "w") as new:
        new.writestr("data", old.read("data"))
        new.writestr("policy.pth", pickle.dumps(Spy()))
    with pytest.raises(TrustRequired, match="weights"):
        tr.load_agent(path, task_of("ppo"))


def test_a_policy_of_ones_own_needs_trust(tmp_path: Path) -> None:
    class Extractor(sb3.common.torch_layers.FlattenExtractor):
        pass

    model = sb3.PPO("MlpPolicy", task_of("ppo").make_env(), policy_kwargs={"features_extractor_class": Extractor})
    model.save(tmp_path / "own.zip")
    with pytest.raises(TrustRequired, match=r"features_extractor_class.*trust=True"):
        tr.load_agent(tmp_path / "own.zip", task_of("ppo"))
    agent = tr.load_agent(tmp_path / "own.zip", task_of("ppo"), trust=True)
    assert len(ask(agent, walk(task_of("ppo"))).actions) == 37


def test_other_spaces_name_both_sides() -> None:
    with pytest.raises(AgentError, match=r"shape \(5,\).*shape \(3, 36, 36\)"):
        tr.load_agent(saved("ppo"), noise_task(PICTURE, MOVES))
    with pytest.raises(AgentError, match=r"4 actions.*Discrete\(3\)"):
        tr.load_agent(saved("ppo"), noise_task(VECTOR, gym.spaces.Discrete(3)))


def test_a_zip_that_is_no_archive_says_so(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as file:
        file.writestr("readme", "hello")
    with pytest.raises(FormatError, match="Stable-Baselines3 archive"):
        tr.load_agent(tmp_path / "some.zip", task_of("ppo"))
    (tmp_path / "text.zip").write_text("hello")
    with pytest.raises(FormatError, match="Stable-Baselines3 archive"):
        tr.load_agent(tmp_path / "text.zip", task_of("ppo"))


def test_a_batch_never_meets_a_size_at_which_torch_differs() -> None:
    agent = tr.load_agent(saved("ppo"), task_of("ppo"))
    assert min(agent.block_sizes) >= 4


@pytest.mark.parametrize("name", ["ppo", "ppo-picture", "ppo-cells"])
def test_an_agent_of_one_array_does_not_fit_a_dict_and_says_what_to_write(name: str) -> None:
    with pytest.raises(AgentError, match=r"and task noise shows Dict\(.*wrap the environment in make_env"):
        tr.load_agent(saved(name), noise_task(PARTS, MOVES))


def test_a_policy_that_cannot_be_made_for_the_spaces_is_no_fault_of_ours() -> None:
    growing = gym.spaces.Dict(image=VECTOR, seen=gym.spaces.Sequence(VECTOR))
    with pytest.raises(AgentError, match=r"cannot be made for observations of Dict.*wrap the environment in make_env"):
        tr.load_agent(saved("ppo-parts"), noise_task(growing, MOVES))
