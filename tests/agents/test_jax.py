"""Agents of JAX: parameters and an apply function, as functions of an observation or of a batch."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle
import numpy as np
import pytest

import tightrope as tr
from tests.agents.tasks import MOVES, TORQUES, VECTOR, noise_task
from tightrope.testing import AgentContract
from tightrope.testing.agent_contract import ask, walk

jax = pytest.importorskip("jax")
jnp = jax.numpy


def parameters(seed: int) -> Any:
    first, second = jax.random.split(jax.random.PRNGKey(seed))
    return {"hidden": jax.random.normal(first, (5, 32)), "out": jax.random.normal(second, (32, 4))}


@jax.jit
def apply(weights: Any, observations: Any) -> Any:
    return jnp.tanh(observations @ weights["hidden"]) @ weights["out"]


def in_batches(seed: int = 0) -> Any:
    weights = parameters(seed)
    return lambda observations: np.asarray(apply(weights, observations).argmax(axis=1))


class TestBatches(AgentContract):
    def make_task(self) -> Any:
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task: Any) -> Any:
        return tr.load_agent(in_batches(), task, batch=True, name="jax")


class TestDrawn(AgentContract):
    """A key made of the episode's own stream."""

    def make_task(self) -> Any:
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task: Any) -> Any:
        weights = parameters(0)

        def act(observation: Any, rng: np.random.Generator) -> int:
            key = jax.random.PRNGKey(int(rng.integers(2**31)))
            return int(jax.random.categorical(key, apply(weights, observation)))

        return tr.load_agent(act, task)


class TestRemembering(AgentContract):
    def make_task(self) -> Any:
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task: Any) -> Any:
        weights = parameters(0)

        def act(observation: Any, memory: Any) -> Any:
            trace = jnp.zeros(5) if memory is None else memory
            trace = 0.5 * trace + observation
            return int(apply(weights, trace).argmax()), trace

        return tr.load_agent(act, task)


def test_parameters_count_and_answers_are_theirs() -> None:
    task = noise_task(VECTOR, MOVES)
    agent, other = (tr.load_agent(in_batches(seed), task, batch=True, name="jax") for seed in (0, 1))
    assert agent.fingerprint == tr.load_agent(in_batches(0), task, batch=True, name="jax").fingerprint
    assert agent.fingerprint != other.fingerprint
    assert agent.deterministic
    observations = walk(task)
    expected = np.asarray(apply(parameters(0), np.stack(observations)).argmax(axis=1)).tolist()
    assert list(ask(agent, observations).actions) == expected
    again = pickle.loads(cloudpickle.dumps(agent))
    assert (again.fingerprint, list(ask(again, observations).actions)) == (agent.fingerprint, expected)


def test_flax() -> None:
    nn = pytest.importorskip("flax.linen")
    network = nn.Sequential([nn.Dense(16), nn.relu, nn.Dense(2), nn.tanh])
    variables = network.init(jax.random.PRNGKey(0), jnp.zeros(5))
    answer = jax.jit(network.apply)
    task = noise_task(VECTOR, TORQUES)

    def act(observations: Any) -> Any:
        return np.clip(np.asarray(answer(variables, observations)), TORQUES.low, TORQUES.high)

    agent = tr.load_agent(act, task, batch=True)
    observations = walk(task)[:8]
    np.testing.assert_allclose(np.array(ask(agent, observations).actions), act(np.stack(observations)), rtol=1e-5)


def test_haiku() -> None:
    hk = pytest.importorskip("haiku")
    network = hk.without_apply_rng(hk.transform(lambda observations: hk.nets.MLP([16, 4])(observations)))
    weights = network.init(jax.random.PRNGKey(0), jnp.zeros(5))
    answer = jax.jit(network.apply)
    task = noise_task(VECTOR, MOVES)
    agent = tr.load_agent(lambda observation: int(answer(weights, observation).argmax()), task, name="h")
    observations = walk(task)[:8]
    expected = np.asarray(answer(weights, np.stack(observations)).argmax(axis=1)).tolist()
    assert list(ask(agent, observations).actions) == expected
