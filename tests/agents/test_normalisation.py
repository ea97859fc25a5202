from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tightrope as tr
from tests.agents.tasks import FRAMES, MOVES, PARTS, VECTOR, noise_task
from tightrope.agents.networks.normalisation import (
    Normalisation,
    load_normalisation,
    normalisation_beside,
    save_normalisation,
)
from tightrope.agents.spaces import spaces_of
from tightrope.errors import AgentError, FormatError, TrustRequired
from tightrope.testing.agent_contract import ask, walk

sb3 = pytest.importorskip("stable_baselines3")
torch = pytest.importorskip("torch")

# One thread: the models are tiny, and threads that wait for each other on a busy machine cost seconds.
torch.set_num_threads(1)
pytestmark = pytest.mark.filterwarnings("ignore")


def normalised_model(folder: Path, observation=VECTOR):
    """A model trained behind VecNormalize, saved as the library's documentation says."""
    environment = sb3.common.vec_env.DummyVecEnv([noise_task(observation, MOVES).make_env])
    environment = sb3.common.vec_env.VecNormalize(environment)
    environment.reset()
    for _ in range(50):
        environment.step([0])
    policy = "MultiInputPolicy" if observation is PARTS else "MlpPolicy"
    model = sb3.PPO(policy, environment, seed=0, n_steps=8, device="cpu")
    model.save(folder / "model.zip")
    environment.save(str(folder / "vecnormalize.pkl"))
    return model, environment


@pytest.mark.parametrize("observation", [VECTOR, PARTS], ids=["vector", "parts"])
def test_statistics_beside_a_model_are_applied(observation, tmp_path: Path) -> None:
    model, environment = normalised_model(tmp_path, observation)
    task = noise_task(observation, MOVES)
    agent = tr.load_agent(tmp_path / "model.zip", task, normalisation=True, trust=True)
    observations = walk(task)
    environment.training = False
    expected = [int(model.predict(environment.normalize_obs(one), deterministic=True)[0]) for one in observations]
    assert list(ask(agent, observations).actions) == expected
    assert list(ask(tr.load_agent(model, task), observations).actions) == expected
    plain = tr.load_agent(tmp_path / "model.zip", task, normalisation=False)
    assert plain.fingerprint != agent.fingerprint


def test_a_model_has_its_own_statistics_unless_others_are_named_or_none(tmp_path: Path) -> None:
    model, _ = normalised_model(tmp_path)
    task = noise_task(VECTOR, MOVES)
    own, without = tr.load_agent(model, task), tr.load_agent(model, task, normalisation=False)
    assert own.fingerprint == tr.load_agent(model, task, normalisation=True).fingerprint != without.fingerprint
    observations = walk(task)
    plain = tr.load_agent(tmp_path / "model.zip", task, normalisation=False)
    assert ask(without, observations).actions == ask(plain, observations).actions
    named = tr.load_agent(model, task, normalisation=tmp_path / "vecnormalize.pkl", trust=True)
    assert ask(named, observations).actions == ask(own, observations).actions
    with pytest.raises(AgentError, match=r"no file 'gone\.npz' of observation statistics"):
        tr.load_agent(model, task, normalisation="gone.npz")
    bare = sb3.PPO("MlpPolicy", task.make_env(), seed=0, n_steps=8, device="cpu")
    with pytest.raises(AgentError, match="has no VecNormalize"):
        tr.load_agent(bare, task, normalisation=True)


def test_statistics_beside_a_model_are_offered_and_not_assumed(tmp_path: Path) -> None:
    normalised_model(tmp_path)
    model, pickled, task = tmp_path / "model.zip", tmp_path / "vecnormalize.pkl", noise_task(VECTOR, MOVES)
    for trust in (False, True):
        with pytest.raises(AgentError) as told:
            tr.load_agent(model, task, trust=trust)
        assert f"--agent {model}+{pickled} --trust" in str(told.value)
        assert f"--agent {model}+none" in str(told.value)
    tr.convert_normalisation(pickled, trust=True)
    with pytest.raises(AgentError) as told:
        tr.load_agent(model, task)
    assert f"--agent {model}+{pickled.with_suffix('.npz')} (" in str(told.value)


def test_what_the_offer_says_to_type_is_understood(tmp_path: Path) -> None:
    normalised_model(tmp_path)
    model, pickled, task = tmp_path / "model.zip", tmp_path / "vecnormalize.pkl", noise_task(VECTOR, MOVES)
    observations = walk(task)
    without, with_it = tr.load_agent(f"{model}+none", task), tr.load_agent(f"{model}+{pickled}", task, trust=True)
    given = tr.load_agent(model, task, normalisation=pickled, trust=True)
    assert without.name == with_it.name == "model"
    assert without.fingerprint == tr.load_agent(model, task, normalisation=False).fingerprint != with_it.fingerprint
    assert ask(with_it, observations).actions == ask(given, observations).actions
    named = tr.load_agent(f"late={model}+none", task)
    assert named.name == "late"
    with pytest.raises(AgentError, match=r"no file 'gone\.npz'"):
        tr.load_agent(f"{model}+gone.npz", task)


def test_a_pickle_is_opened_only_when_trusted(tmp_path: Path) -> None:
    normalised_model(tmp_path)
    pickled = tmp_path / "vecnormalize.pkl"
    with pytest.raises(TrustRequired, match=r"vecnormalize\.pkl.*--trust.*normalisation=False.*\+none"):
        tr.load_agent(tmp_path / "model.zip", noise_task(VECTOR, MOVES), normalisation=pickled)


def test_converted_statistics_need_no_trust(tmp_path: Path) -> None:
    normalised_model(tmp_path)
    task = noise_task(VECTOR, MOVES)
    trusted = tr.load_agent(tmp_path / "model.zip", task, normalisation=True, trust=True)
    assert tr.convert_normalisation(tmp_path / "vecnormalize.pkl", trust=True) == tmp_path / "vecnormalize.npz"
    agent = tr.load_agent(tmp_path / "model.zip", task, normalisation=True)
    observations = walk(task)
    assert ask(agent, observations).actions == ask(trusted, observations).actions


def test_statistics_survive_a_file(tmp_path: Path) -> None:
    statistics = Normalisation(means={"view": np.arange(3.0)}, variances={"view": np.ones(3)}, clip=5.0, epsilon=1e-6)
    found = load_normalisation(save_normalisation(statistics, tmp_path / "s.npz"), trust=False)
    assert (found.clip, found.epsilon) == (5.0, 1e-6)
    assert np.array_equal(found.means["view"], np.arange(3.0))


def test_values_are_centred_scaled_and_clipped() -> None:
    statistics = Normalisation(
        means={"observation": np.array([1.0])}, variances={"observation": np.array([4.0])}, clip=2.0
    )
    rows = statistics.apply("observation", np.array([[1.0], [3.0], [100.0]]))
    assert rows.dtype == np.float32
    assert rows[:, 0].tolist() == [0.0, 1.0, 2.0]


def test_statistics_of_another_shape_are_refused() -> None:
    statistics = Normalisation(means={"observation": np.zeros(5)}, variances={"observation": np.ones(5)})
    with pytest.raises(AgentError, match=r"\(5,\).*\(4, 84, 84\)"):
        statistics.fitted(spaces_of(noise_task(FRAMES, MOVES)))


def test_the_folder_of_the_zoo_is_looked_into(tmp_path: Path) -> None:
    assert normalisation_beside(tmp_path / "model.zip") is None
    (tmp_path / "Env-v1").mkdir()
    (tmp_path / "Env-v1" / "vecnormalize.pkl").touch()
    assert normalisation_beside(tmp_path / "model.zip") is None, "any folder might be another model's"
    (tmp_path / "Env-v1" / "args.yml").touch()
    assert normalisation_beside(tmp_path / "model.zip") == tmp_path / "Env-v1" / "vecnormalize.pkl"


def test_another_file_or_a_newer_format_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    with pytest.raises(FormatError, match="format"):
        load_normalisation(tmp_path / "other.npz", trust=False)
    np.savez(tmp_path / "newer.npz", format=np.array("tightrope/normalisation"), version=np.array(2))
    with pytest.raises(FormatError, match="version 2"):
        load_normalisation(tmp_path / "newer.npz", trust=False)


@pytest.mark.parametrize(
    ("mean", "variance", "limits"),
    [
        (np.zeros(2), -np.ones(2), (10.0, 1e-8)), (np.zeros(2), np.zeros(2), (10.0, 0.0)),
        (np.zeros(2), np.full(2, np.nan), (10.0, 1e-8)), (np.full(2, np.inf), np.ones(2), (10.0, 1e-8)),
        (np.zeros(2), np.ones(3), (10.0, 1e-8)), (np.zeros(2), np.ones(2), (-1.0, 1e-8)),
        (np.zeros(2), np.ones(2), (np.nan, 1e-8)),
    ],
)  # fmt: skip
def test_statistics_that_nothing_can_be_divided_by_are_refused(mean, variance, limits, tmp_path):
    statistics = Normalisation(
        means={"observation": mean}, variances={"observation": variance}, clip=limits[0], epsilon=limits[1]
    )
    with pytest.raises(FormatError, match=r"s\.npz is damaged"):
        load_normalisation(save_normalisation(statistics, tmp_path / "s.npz"), trust=False)
