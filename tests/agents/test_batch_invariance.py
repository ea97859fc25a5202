from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tightrope.agents.networks.batch_invariance import ALL_SIZES, TORCH_SIZES, agreeing_sizes, run_in_blocks
from tightrope.errors import AgentError


def doubled(arrays):
    return (arrays[0] * 2.0,)


def by_batch_size(arrays):
    """Answers like a library that has one kernel for small batches and another for large ones."""
    (rows,) = arrays
    return (rows + (1e-7 if len(rows) < 4 else 0.0),)


def by_position(arrays):
    (rows,) = arrays
    return (rows + np.arange(len(rows))[:, None] * 1e-7,)


def normalised_over_the_batch(arrays):
    (rows,) = arrays
    return (rows - rows.mean(axis=0),)


@given(number=st.integers(1, 300), sizes=st.sets(st.sampled_from(ALL_SIZES), min_size=1))
def test_every_row_is_answered_once_and_in_order_using_only_the_given_sizes(number: int, sizes: set[int]) -> None:
    seen = []

    def network(arrays):
        seen.append(len(arrays[0]))
        return doubled(arrays)

    rows = np.arange(number, dtype=float)[:, None]
    (answers,) = run_in_blocks(network, (rows,), sorted(sizes))
    assert np.array_equal(answers, rows * 2.0)
    assert set(seen) <= sizes


def test_padding_is_less_than_a_third_of_the_rows_once_the_smallest_block_is_full() -> None:
    for number in range(4, 200):
        asked = []
        run_in_blocks(
            lambda arrays, asked=asked: asked.append(len(arrays[0])) or arrays, (np.zeros((number, 1)),), TORCH_SIZES
        )
        assert sum(asked) <= number * 4 / 3 + 4


def samples(number: int = 64) -> tuple[np.ndarray, ...]:
    return (np.random.default_rng(0).standard_normal((number, 3)),)


def test_all_sizes_are_used_where_all_agree() -> None:
    assert list(agreeing_sizes(doubled, samples(), ALL_SIZES)) == list(ALL_SIZES)


def test_sizes_that_disagree_are_left_out() -> None:
    assert list(agreeing_sizes(by_batch_size, samples(), ALL_SIZES)) == [4, 8, 16, 32, 64]


@pytest.mark.parametrize("network", [by_position, normalised_over_the_batch])
def test_rows_go_one_by_one_where_nothing_agrees(network) -> None:
    assert list(agreeing_sizes(network, samples(), ALL_SIZES)) == [1]


def test_a_fixed_batch_that_mixes_its_rows_is_refused() -> None:
    with pytest.raises(AgentError, match="free batch dimension"):
        agreeing_sizes(normalised_over_the_batch, samples(), (8,), any_size=False)
