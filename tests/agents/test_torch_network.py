from __future__ import annotations

import pickle
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import tightrope as tr
from tests.agents.networks import scratch
from tests.agents.tasks import FRAMES, MOVES, PARTS, TORQUES, VECTOR, noise_task
from tightrope.errors import AgentError, TrustRequired
from tightrope.testing import AgentContract
from tightrope.testing.agent_contract import ask, walk

torch = pytest.importorskip("torch")

MODULE = """
    import torch
    from torch import nn

    class Scores(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(5, 64), nn.Tanh(), nn.Linear(64, 4))
        def forward(self, observations):
            return self.layers(observations)

    class ForAnyTask(nn.Module):
        def __init__(self, envs):
            super().__init__()
            inputs = envs.single_observation_space.shape[0]
            self.mean = nn.Linear(inputs, envs.single_action_space.shape[0])
            self.log_std = nn.Parameter(torch.zeros(envs.single_action_space.shape[0]))
        def forward(self, observations):
            mean = self.mean(observations)
            return mean, self.log_std.expand_as(mean)

    class Demanding(nn.Module):
        def __init__(self, width, depth=2):
            super().__init__()

    class Mixing(Scores):
        def forward(self, observations):
            return super().forward(observations - observations.mean(dim=0))

    class Frames(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(
                nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 16, 4, 2), nn.ReLU(), nn.Flatten(), nn.Linear(1296, 4)
            )
        def forward(self, observations):
            return self.layers(observations.float() / 255)

    class Parts(nn.Module):
        def forward(self, observations):
            return torch.cat([observations["view"], observations["speed"][:, :1]], dim=1)
"""


@pytest.fixture(scope="module", autouse=True)
def networks_module():
    (scratch() / "tightrope_test_networks.py").write_text(textwrap.dedent(MODULE))
    sys.path.insert(0, str(scratch()))
    yield
    sys.path.remove(str(scratch()))


def weights(kind: str, *arguments) -> str:
    import tightrope_test_networks as networks

    torch.manual_seed(0)
    path = scratch() / f"{kind}.pt"
    torch.save(getattr(networks, kind)(*arguments).state_dict(), path)
    return f"{path}@tightrope_test_networks:{kind}"


class TestScores(AgentContract):
    def make_task(self):
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task):
        return tr.load_agent(weights("Scores"), task)


class TestFrames(AgentContract):
    def make_task(self):
        return noise_task(FRAMES, MOVES)

    def make_agent(self, task):
        return tr.load_agent(weights("Frames"), task, behaviour="sampled")


class TestANetworkThatMixesItsBatch(AgentContract):
    """It is asked row by row, and so keeps the contract in spite of itself."""

    def make_task(self):
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task):
        agent = tr.load_agent(weights("Mixing"), task)
        assert list(agent.block_sizes) == [1]
        return agent


def test_a_class_may_ask_for_the_spaces() -> None:
    from types import SimpleNamespace

    task = noise_task(VECTOR, TORQUES)
    spaces = SimpleNamespace(single_observation_space=VECTOR, single_action_space=TORQUES)
    source = weights("ForAnyTask", spaces)
    assert tr.load_agent(source, task).deterministic
    sampled = tr.load_agent(source, task, behaviour="sampled")
    assert ask(sampled, walk(task)).actions != ask(tr.load_agent(source, task), walk(task)).actions


def test_parts_arrive_as_a_dict() -> None:
    import tightrope_test_networks as networks

    task = noise_task(PARTS, MOVES)
    agent = tr.load_agent(networks.Parts(), task)
    observations = walk(task)
    expected = [int(np.argmax([*one["view"], one["speed"][0]])) for one in observations]
    assert list(ask(agent, observations).actions) == expected


def test_weights_alone_ask_for_their_network() -> None:
    path = weights("Scores").partition("@")[0]
    with pytest.raises(AgentError, match=r"@package\.module:Class"):
        tr.load_agent(path, noise_task(VECTOR, MOVES))
    named = tr.load_agent(path, noise_task(VECTOR, MOVES), network="tightrope_test_networks:Scores")
    assert named.name == "Scores"


def test_weights_of_another_network_are_refused() -> None:
    path = weights("Scores").partition("@")[0]
    with pytest.raises(AgentError, match="do not fit Frames"):
        tr.load_agent(f"{path}@tightrope_test_networks:Frames", noise_task(FRAMES, MOVES))


def test_a_class_that_asks_for_something_unknown_names_it() -> None:
    path = weights("Scores").partition("@")[0]
    with pytest.raises(AgentError, match=r"\['width'\]"):
        tr.load_agent(f"{path}@tightrope_test_networks:Demanding", noise_task(VECTOR, MOVES))


def test_a_network_that_cannot_answer_says_for_what() -> None:
    with pytest.raises(AgentError, match="Scores cannot answer"):
        tr.load_agent(weights("Scores"), noise_task(FRAMES, MOVES))


class Spy:
    def __reduce__(self):
        return (pytest.fail, ("the file was unpickled",))


def test_a_pickled_module_needs_trust(tmp_path: Path) -> None:
    import tightrope_test_networks as networks

    torch.save(networks.Scores(), tmp_path / "whole.pt")
    task = noise_task(VECTOR, MOVES)
    with pytest.raises(TrustRequired, match="trust=True"):
        tr.load_agent(tmp_path / "whole.pt", task)
    assert len(ask(tr.load_agent(tmp_path / "whole.pt", task, trust=True), walk(task)).actions) == 37
    (tmp_path / "evil.pt").write_bytes(pickle.dumps(Spy(), protocol=2))
    with pytest.raises(TrustRequired):
        tr.load_agent(f"{tmp_path / 'evil.pt'}@tightrope_test_networks:Scores", task)


def test_threads_are_left_as_they_were() -> None:
    before = torch.get_num_threads()
    task = noise_task(VECTOR, MOVES)
    ask(tr.load_agent(weights("Scores"), task), walk(task))
    assert torch.get_num_threads() == before


def test_text_in_an_old_pickle_warns_nobody(recwarn: pytest.WarningsRecorder) -> None:
    from tightrope.agents.formats.torch_weights import require_plain_pickle

    require_plain_pickle(b"S'\\q'\n.")
    assert not recwarn.list
