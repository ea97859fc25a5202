"""Checkpoints of RLlib: as RLlib asks them where it is installed, and refused in words everywhere."""

from __future__ import annotations

import json
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.agents.networks import scratch
from tests.agents.tasks import MOVES, TORQUES, VECTOR, NoiseEnv, noise_task
from tightrope.errors import AgentError, FormatError, MissingExtra, TrustRequired
from tightrope.testing import AgentContract
from tightrope.testing.agent_contract import ask, walk

SEEN = np.random.default_rng(0).normal(2.0, 0.3, (20, 5)).astype(np.float32)
"""What the filter of observations was trained with."""

pytestmark = pytest.mark.filterwarnings("ignore")


def rllib() -> Any:
    """The library; it is not among those that are always installed (its own needs take 200 MB)."""
    return pytest.importorskip("ray.rllib.core.rl_module.rl_module", exc_type=ImportError)


@cache
def checkpoint(kind: str) -> Path:
    """The folder of an algorithm, laid out as ``save_to_path`` does, from its own parts and without starting Ray."""
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.connectors.env_to_module import MeanStdFilter, PrevActionsPrevRewards

    action = TORQUES if kind == "torques" else MOVES
    first = PrevActionsPrevRewards if kind == "looks back" else MeanStdFilter

    def to_module(*given: Any, **named: Any) -> Any:
        return first()

    config = PPOConfig().env_runners(num_env_runners=0, env_to_module_connector=to_module)
    if kind == "recurrent":
        config = config.rl_module(model_config={"use_lstm": True, "max_seq_len": 4, "lstm_cell_size": 8})
    env = NoiseEnv(VECTOR, action)
    vector = gym.vector.SyncVectorEnv([lambda: NoiseEnv(VECTOR, action)])
    folder = scratch() / kind
    module = config.get_rl_module_spec(env=env).build()
    module.save_to_path(folder / "learner_group" / "learner" / "rl_module" / "default_policy")
    pipeline = config.build_env_to_module_connector(env=vector, spaces=None)
    if kind in ("moves", "torques"):
        _see_something(pipeline, module)
    back = config.build_module_to_env_connector(env=vector, spaces=None)
    for name, part in (("env_to_module", pipeline), ("module_to_env", back)):
        part.save_to_path(folder / "env_runner" / f"{name}_connector", state=part.get_state())
    (folder / "rllib_checkpoint.json").write_text(json.dumps({"type": "Algorithm", "checkpoint_version": "2.1"}))
    return folder


def _see_something(pipeline: Any, module: Any) -> None:
    """Let the filter learn a mean and a spread that matter."""
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode

    for one in SEEN:
        episode = SingleAgentEpisode(observations=[one], observation_space=VECTOR, action_space=module.action_space)
        pipeline(batch={}, episodes=[episode], rl_module=module, explore=False, shared_data={})


@pytest.mark.parametrize(("kind", "action"), [("moves", MOVES), ("torques", TORQUES)])
def test_a_checkpoint_answers_as_rllib_says(kind: str, action: Any) -> None:
    torch = pytest.importorskip("torch")
    library = rllib()
    task, folder = noise_task(VECTOR, action), checkpoint(kind)
    agent = tr.load_agent(folder, task, trust=True)
    observations = walk(task)[:12]
    module = library.RLModule.from_checkpoint(str(folder / "learner_group/learner/rl_module/default_policy"))
    mean, spread = SEEN.mean(axis=0), SEEN.std(axis=0, ddof=1)
    scaled = np.stack([(one - mean) / (spread + 1e-8) for one in observations]).clip(-10, 10)
    with torch.inference_mode():
        said = module.forward_inference({"obs": torch.from_numpy(scaled.astype(np.float32))})["action_dist_inputs"]
    answers = ask(agent, observations).actions
    if kind == "moves":
        assert list(answers) == said.argmax(1).tolist()
        return
    # RLlib's default: what the network says lies in [-1, 1] and is scaled to the space.
    low, high = TORQUES.low, TORQUES.high
    expected = low + (np.clip(said.numpy()[:, :2], -1, 1) + 1.0) * (high - low) / 2.0
    np.testing.assert_allclose(np.array(answers), expected, rtol=1e-4, atol=1e-5)


class TestRllib(AgentContract):
    def make_task(self) -> Any:
        rllib()
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task: Any) -> Any:
        return tr.load_agent(checkpoint("moves"), task, trust=True)


def test_what_looks_back_is_refused_by_name() -> None:
    rllib()
    with pytest.raises(AgentError, match=r"PrevActionsPrevRewards look at earlier steps.*module:factory"):
        tr.load_agent(checkpoint("looks back"), noise_task(VECTOR, MOVES), trust=True)
    with pytest.raises(AgentError, match=r"keeps a state between steps.*module:factory"):
        tr.load_agent(checkpoint("recurrent"), noise_task(VECTOR, MOVES), trust=True)


def test_a_module_alone(tmp_path: Path) -> None:
    rllib()
    inside = checkpoint("moves") / "learner_group/learner/rl_module/default_policy"
    with pytest.raises(AgentError, match=rf"whose connectors lie beside it.*--agent {checkpoint('moves')} --trust"):
        tr.load_agent(inside, noise_task(VECTOR, MOVES), trust=True)
    alone = inside.rename(tmp_path / "alone")
    try:
        agent = tr.load_agent(alone, noise_task(VECTOR, MOVES), trust=True)
        assert len(ask(agent, walk(noise_task(VECTOR, MOVES))).actions) == 37
    finally:
        alone.rename(inside)
    with pytest.raises(AgentError, match="trained with the actions"):
        tr.load_agent(checkpoint("moves"), noise_task(VECTOR, gym.spaces.Discrete(3)), trust=True)


def folder_of_pickles(folder: Path) -> Path:
    """Named like the folder of a module, and it would do harm."""
    folder.mkdir()
    (folder / "metadata.json").write_text('{"checkpoint_version": "2.1"}')
    for name in ("class_and_ctor_args.pkl", "module_state.pkl"):
        (folder / name).write_bytes(pickle.dumps(Spy()))
    return folder


class Spy:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("the file was unpickled",))


def test_nothing_is_unpickled_without_trust(tmp_path: Path) -> None:
    with pytest.raises(TrustRequired, match=r"checkpoint of RLlib.*--trust"):
        tr.load_agent(folder_of_pickles(tmp_path / "module"), noise_task(VECTOR, MOVES))


@pytest.mark.parametrize("said", ["", "[1]", "{}", "[" * 9999])
def test_a_folder_that_is_none_is_told(said: str, tmp_path: Path) -> None:
    folder = folder_of_pickles(tmp_path / "module")
    (folder / "metadata.json").write_text(said)
    with pytest.raises(FormatError, match=r"metadata\.json"):
        tr.load_agent(folder, noise_task(VECTOR, MOVES), trust=True)


def test_an_algorithm_without_its_parts_is_told(tmp_path: Path) -> None:
    (tmp_path / "rllib_checkpoint.json").write_text('{"checkpoint_version": "2.1"}')
    with pytest.raises(AgentError, match="does not hold exactly one module"):
        tr.load_agent(tmp_path, noise_task(VECTOR, MOVES), trust=True)
    (tmp_path / "learner_group/learner/rl_module").mkdir(parents=True)
    folder_of_pickles(tmp_path / "learner_group/learner/rl_module/default_policy")
    with pytest.raises(AgentError, match=r"lacks env_runner/env_to_module_connector"):
        tr.load_agent(tmp_path, noise_task(VECTOR, MOVES), trust=True)


def test_without_the_library_its_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith("ray.rllib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ray.rllib", None)  # type: ignore[arg-type]
    with pytest.raises(MissingExtra, match="rllib"):
        tr.load_agent(folder_of_pickles(tmp_path / "module"), noise_task(VECTOR, MOVES), trust=True)
