from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.agents.networks import (
    cell_network,
    deciding_network,
    dense_network,
    gaussian_network,
    picture_network,
    scratch,
    two_part_network,
)
from tests.agents.tasks import BITS, CELLS, FRAMES, MOVES, PARTS, SWITCHES, TORQUES, VECTOR, noise_task
from tightrope.agents.formats.onnx import OnnxFile
from tightrope.agents.networks.batch_invariance import ALL_SIZES, run_in_blocks
from tightrope.errors import AgentError, AgentFailure, FormatError
from tightrope.testing import AgentContract
from tightrope.testing.agent_contract import ask, walk


class TestScoresOfMoves(AgentContract):
    def make_task(self):
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task):
        return tr.load_agent(dense_network(scratch() / "moves.onnx", 5, 4), task)


class TestSampledMoves(TestScoresOfMoves):
    def make_agent(self, task):
        return tr.load_agent(dense_network(scratch() / "moves.onnx", 5, 4), task, behaviour="sampled")


class TestNoisyMoves(TestScoresOfMoves):
    def make_agent(self, task):
        return tr.load_agent(dense_network(scratch() / "moves.onnx", 5, 4), task, epsilon=0.3)


class TestMovesFromFrames(AgentContract):
    def make_task(self):
        return noise_task(FRAMES, MOVES)

    def make_agent(self, task):
        return tr.load_agent(picture_network(scratch() / "frames.onnx", 4), task)


class TestSampledTorques(AgentContract):
    def make_task(self):
        return noise_task(VECTOR, TORQUES)

    def make_agent(self, task):
        return tr.load_agent(gaussian_network(scratch() / "torques.onnx", 5, 2), task, behaviour="sampled")


class TestNoisySwitches(AgentContract):
    def make_task(self):
        return noise_task(VECTOR, SWITCHES)

    def make_agent(self, task):
        return tr.load_agent(dense_network(scratch() / "switches.onnx", 5, 5), task, behaviour="sampled", epsilon=0.2)


class TestSampledBits(AgentContract):
    def make_task(self):
        return noise_task(VECTOR, BITS)

    def make_agent(self, task):
        return tr.load_agent(dense_network(scratch() / "bits.onnx", 5, 3), task, behaviour="sampled")


class TestAFixedBatch(AgentContract):
    def make_task(self):
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task):
        return tr.load_agent(dense_network(scratch() / "fixed.onnx", 5, 4, batch=3), task)


def test_bit_for_bit_the_same_logits_in_every_block(tmp_path: Path) -> None:
    """Actions hide differences; the scores themselves must not have any."""
    task = noise_task(FRAMES, MOVES)
    agent = tr.load_agent(picture_network(tmp_path / "frames.onnx", 4), task)
    rows = np.stack(walk(task, 64))
    network = agent._parts.network
    expected = run_in_blocks(network, (rows,), (8,))[0]
    for size in agent.block_sizes:
        assert np.array_equal(run_in_blocks(network, (rows,), (size,))[0], expected)


def test_all_block_sizes_are_in_use_here(tmp_path: Path) -> None:
    agent = tr.load_agent(dense_network(tmp_path / "moves.onnx", 5, 4), noise_task(VECTOR, MOVES))
    assert set(agent.block_sizes) <= set(ALL_SIZES)
    assert max(agent.block_sizes) >= 8


def test_a_network_may_answer_with_the_action_itself(tmp_path: Path) -> None:
    task = noise_task(VECTOR, MOVES)
    agent = tr.load_agent(deciding_network(tmp_path / "deciding.onnx", 5, 4), task)
    assert set(ask(agent, walk(task)).actions) <= {0, 1, 2, 3}
    with pytest.raises(AgentError, match="no distribution"):
        tr.load_agent(tmp_path / "deciding.onnx", task, behaviour="sampled")


def test_parts_of_an_observation_go_to_the_inputs_of_their_names(tmp_path: Path) -> None:
    task = noise_task(PARTS, MOVES)
    agent = tr.load_agent(two_part_network(tmp_path / "parts.onnx", {"view": 3, "speed": 2}, 4), task)
    assert len(ask(agent, walk(task)).actions) == 37
    other = two_part_network(tmp_path / "other.onnx", {"view": 3, "pace": 2}, 4)
    with pytest.raises(AgentError, match=r"\['speed'\].*\['pace', 'view'\]"):
        tr.load_agent(other, task)


def test_a_numbered_cell_may_be_given_one_hot(tmp_path: Path) -> None:
    task = noise_task(CELLS, MOVES)
    agent = tr.load_agent(dense_network(tmp_path / "cells.onnx", 7, 4), task)
    hot = tr.load_agent(tmp_path / "cells.onnx", noise_task(gym.spaces.Box(0.0, 1.0, (7,)), MOVES))
    expected = ask(hot, list(np.eye(7, dtype=np.float32))).actions
    assert ask(agent, list(range(7))).actions == expected


@pytest.mark.parametrize("first", [-3, 5])
def test_one_hot_counts_from_the_first_cell(tmp_path: Path, first: int) -> None:
    """Counted from 0, cell -1 would be the last one, and nobody would notice."""
    file = dense_network(tmp_path / "cells.onnx", 16, 4)
    agent, shifted = (
        tr.load_agent(file, noise_task(gym.spaces.Discrete(16, start=start), MOVES)) for start in (0, first)
    )
    cells = list(range(16))
    assert ask(shifted, [cell + first for cell in cells]).actions == ask(agent, cells).actions


def test_a_file_that_says_how_many_cells_it_knows_is_refused_where_there_are_others(tmp_path: Path) -> None:
    lake, larger = noise_task(CELLS, MOVES), noise_task(gym.spaces.Discrete(64), MOVES)
    path = cell_network(tmp_path / "lake.onnx", 7, 4, metadata={"observation_n": "7"})
    assert len(ask(tr.load_agent(path, lake), list(range(7))).actions) == 7
    with pytest.raises(AgentError, match=r"lake\.onnx was trained on observations of 7 values .* the task's have 64"):
        tr.load_agent(path, larger)
    assert tr.load_agent(cell_network(tmp_path / "silent.onnx", 7, 4), larger)


def test_squashed_torques_stay_in_the_box(tmp_path: Path) -> None:
    task = noise_task(VECTOR, TORQUES)
    path = gaussian_network(tmp_path / "torques.onnx", 5, 2, metadata={"action_head": "squashed"})
    for action in ask(tr.load_agent(path, task, behaviour="sampled"), walk(task)).actions:
        assert TORQUES.contains(np.array(action, np.float32))


def test_an_observation_of_another_shape_names_both(tmp_path: Path) -> None:
    path = dense_network(tmp_path / "moves.onnx", 5, 4)
    agent = tr.load_agent(path, noise_task(VECTOR, MOVES))
    with pytest.raises(AgentFailure, match=r"'moves'.*\(5,\).*\(6,\)"):
        agent.act([np.zeros(6)], [None], [None], [None])
    with pytest.raises(AgentError, match=r"\(5,\).*\(4, 84, 84\)"):
        tr.load_agent(path, noise_task(FRAMES, MOVES))


def test_another_number_of_actions_names_both(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"\(3,\).*\(4,\)"):
        tr.load_agent(dense_network(tmp_path / "three.onnx", 5, 3), noise_task(VECTOR, MOVES))


def test_a_network_can_be_asked_without_a_task(tmp_path: Path) -> None:
    asked = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
    path = dense_network(tmp_path / "moves.onnx", 5, 4)
    (scores,) = OnnxFile(path).answer({"observation": asked})
    assert scores.shape == (6, 4)
    best = tr.load_agent(path, noise_task(VECTOR, MOVES)).act(list(asked), [None] * 6, [None] * 6, [None] * 6)
    assert scores.argmax(1).tolist() == list(best.actions)


def test_a_file_that_is_no_network_says_so(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("hello")
    with pytest.raises(FormatError, match=r"text\.onnx"):
        tr.load_agent(tmp_path / "text.onnx", noise_task(VECTOR, MOVES))


def test_a_changed_file_is_another_agent_and_does_not_come_back(tmp_path: Path) -> None:
    import cloudpickle

    path = dense_network(tmp_path / "moves.onnx", 5, 4)
    task = noise_task(VECTOR, MOVES)
    agent = tr.load_agent(path, task)
    packed = cloudpickle.dumps(agent)
    assert len(packed) < 5000, "an agent from a file travels as its path"
    dense_network(path, 5, 4, metadata={"trained": "longer"})
    assert tr.load_agent(path, task).fingerprint != agent.fingerprint
    with pytest.raises(AgentError, match="has changed"):
        cloudpickle.loads(packed)


def test_options_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    path = dense_network(tmp_path / "moves.onnx", 5, 4)
    task = noise_task(VECTOR, MOVES)
    options = [{}, {"behaviour": "sampled"}, {"epsilon": 0.1}, {"epsilon": 0.2}]
    assert len({tr.load_agent(path, task, **one).fingerprint for one in options}) == 4
