"""Answers in batches of any size: only close decisions are asked about again, and the action is always the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tightrope.agents.behaviour import Behaviour
from tightrope.agents.networks.action_heads import CategoricalHead, head_for
from tightrope.agents.networks.batch_invariance import ALL_SIZES, Arrays
from tightrope.agents.networks.network_agent import NetworkAgent, NetworkParts
from tightrope.agents.spaces import TaskSpaces

SEEN = gym.spaces.Box(-1, 1, (3,), np.float32)
WEIGHTS = np.random.default_rng(1).normal(size=(3, 6))


class ByPosition:
    """Scores whose last digits hang on the size of the batch and on the place in it."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.batches: list[int] = []

    def __call__(self, arrays: Arrays) -> Arrays:
        (rows,) = arrays
        self.batches.append(len(rows))
        scores = rows.astype(np.float64) @ WEIGHTS
        off = np.sin(np.arange(scores.size) + len(rows)).reshape(scores.shape) * (len(rows) > 1)
        return ((scores * (1 + self.share * off)).astype(np.float32),)


def agent(network: Any, space: gym.Space[Any], **behaviour: Any) -> NetworkAgent:
    return NetworkAgent(
        NetworkParts(network=network, head=head_for(space), sizes=ALL_SIZES),
        TaskSpaces(task="test", observation=SEEN, action=space),
        Behaviour(**behaviour),
        name="test",
        fingerprint="test",
    )


def close(number: int) -> list[Any]:
    """Observations whose two best scores are about equal, on a line between two that are answered differently."""
    rng = np.random.default_rng(2)
    found: list[Any] = []
    while len(found) < number:
        left, right = rng.uniform(-1, 1, (2, 3))
        first = int((left @ WEIGHTS).argmax())
        for _ in range(60):
            middle = (left + right) / 2
            left, right = (middle, right) if int((middle @ WEIGHTS).argmax()) == first else (left, middle)
        if int((right @ WEIGHTS).argmax()) != first:
            found += [left.astype(np.float32), right.astype(np.float32)]
    return found[:number]


def ask(asked: NetworkAgent, observations: list[Any], *, together: bool) -> list[Any]:
    streams = [np.random.default_rng(place) for place in range(len(observations))]
    nothing = [None] * len(observations)
    if together:
        return list(asked.act(observations, nothing, streams, nothing).actions)
    return [asked.act([one], [None], [own], [None]).actions[0] for one, own in zip(observations, streams, strict=True)]


SPACES = [gym.spaces.Discrete(6), gym.spaces.Discrete(6, start=2), gym.spaces.MultiDiscrete([2, 4])]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_the_action_does_not_hang_on_the_batch(space: gym.Space[Any]) -> None:
    network = ByPosition(1e-6)
    asked = agent(network, space)
    assert list(asked.block_sizes) == [1]
    easy, hard = list(np.random.default_rng(4).uniform(-1, 1, (200, 3)).astype(np.float32)), close(40)
    network.batches.clear()
    together = ask(asked, [*easy, *hard], together=True)
    assert network.batches[0] == 240
    assert set(network.batches[1:]) == {1}
    assert 10 <= len(network.batches[1:]) == asked.asked_again < 60
    assert together == ask(asked, [*easy, *hard], together=False)


def test_without_asking_again_close_decisions_would_hang_on_the_batch() -> None:
    network, head = ByPosition(1e-6), CategoricalHead(gym.spaces.Discrete(6))
    rows = np.stack(close(40))
    alone = [head.best(network((row[None],)), [None])[0] for row in rows]
    assert head.best(network((rows,)), [None] * len(rows)) != alone


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_draws_do_not_hang_on_the_batch(epsilon: float) -> None:
    asked = agent(ByPosition(1e-5), SPACES[0], kind="sampled", epsilon=epsilon)
    observations = list(np.random.default_rng(4).uniform(-1, 1, (3000, 3)).astype(np.float32))
    assert ask(asked, observations, together=True) == ask(asked, observations, together=False)
    assert asked.asked_again > 0


def test_a_draw_at_the_edge_between_two_actions_is_close() -> None:
    head = CategoricalHead(gym.spaces.Discrete(3))
    scores = (np.log(np.array([[0.25, 0.25, 0.5]])),)
    for share, action, distance in ((0.1, 0, 0.15), (0.2501, 1, 0.0001), (0.4999, 1, 0.0001), (0.999, 2, 0.499)):
        found, edge = head.at(scores, None, share)
        assert (found, edge) == (action, pytest.approx(distance))


def test_a_network_that_does_more_than_round_is_asked_row_by_row() -> None:
    network = ByPosition(1e-2)
    asked = agent(network, SPACES[0])
    network.batches.clear()
    ask(asked, close(5), together=True)
    assert network.batches == [1] * 5


def test_continuous_actions_keep_their_blocks() -> None:
    network = ByPosition(1e-6)
    asked = agent(network, gym.spaces.Box(-1, 1, (6,), np.float32))
    network.batches.clear()
    ask(asked, close(5), together=True)
    assert network.batches == [1] * 5


def test_processors_of_other_instruction_sets_play_the_same(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tests.agents import closely

    np.save(tmp_path / "close.npy", closely.undecided(closely.Leaning(), 150))
    told = [
        _told(tmp_path / "close.npy", ATEN_CPU_CAPABILITY="default", ONEDNN_MAX_CPU_ISA="SSE41", MKL_CBWR="COMPATIBLE"),
        _told(tmp_path / "close.npy"),
    ]
    if told[0][0] == told[1][0]:
        pytest.skip(
            "this processor decides the same with both instruction sets; one with AVX2 or more tells them apart"
        )
    assert told[0][1:] == told[1][1:]


def _told(close: Path, **limits: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.agents.closely", str(close)],
        env={**os.environ, "OMP_NUM_THREADS": "1", **limits},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_infinite_scores_warn_nobody_and_spoil_nothing(recwarn: pytest.WarningsRecorder) -> None:
    class Endless(ByPosition):
        """Some observations lead to an infinite score; or all, where its weights are infinite."""

        always = False

        def __call__(self, arrays: Arrays) -> Arrays:
            (scores,) = super().__call__(arrays)
            scores[self.always | (arrays[0][:, 0] > 2)] = np.inf
            return (scores,)

    some, far = agent(Endless(1e-6), SPACES[0]), np.full(3, 3.0, np.float32)
    assert ask(some, [far, far], together=True) == [0, 0]
    observations = [far, *close(40)]
    assert ask(some, observations, together=True) == ask(some, observations, together=False)
    everything = Endless(1e-6)
    everything.always = True
    assert ask(agent(everything, SPACES[0]), [far, far], together=True) == [0, 0]
    assert not recwarn.list


@pytest.mark.parametrize("number", [np.float32, np.float64])
def test_scores_as_large_as_numbers_go_warn_nobody(number: Any, recwarn: pytest.WarningsRecorder) -> None:
    """The sum of two of them is more than a number can hold, and so is a multiple of one."""

    class Huge(ByPosition):
        def __call__(self, arrays: Arrays) -> Arrays:
            (scores,) = super().__call__(arrays)
            return (np.sign(scores).astype(number) * np.finfo(number).max,)

    asked, observations = agent(Huge(0.0), SPACES[0]), close(8)
    assert ask(asked, observations, together=True) == ask(asked, observations, together=False)
    assert not recwarn.list
