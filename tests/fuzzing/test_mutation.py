from __future__ import annotations

from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tightrope.fuzzing import action_source
from tightrope.fuzzing.mutation import append, change, cross, insert, mutate, remove
from tightrope.testing import corridor_task

SOURCE = action_source(corridor_task())
# 8 and 9 are not drawn by the source, so that what an operator brought in can be told from what was there.
OLD = st.lists(st.sampled_from((8, 9)), min_size=1, max_size=30).map(tuple)
SIZE = st.integers(1, 15)
RNG = st.integers(0, 10**9).map(np.random.default_rng)


def is_subsequence_around(child: tuple[int, ...], parent: tuple[int, ...], size: int) -> bool:
    """Whether ``child`` is ``parent`` with ``size`` actions cut in at one place."""
    return any(child[:place] + child[place + size :] == parent for place in range(len(parent) + 1))


@given(OLD, SIZE, RNG)
def test_insert_brings_in_one_held_run(actions, size, rng) -> None:
    child = insert(actions, size, SOURCE, rng, independent=False)
    assert len(child) == len(actions) + size
    assert is_subsequence_around(child, actions, size)
    assert len({action for action in child if action in (0, 1)}) == 1


@given(OLD, SIZE, RNG)
def test_remove_takes_one_run_and_never_everything(actions, size, rng) -> None:
    child = remove(actions, size, rng)
    assert len(child) == max(1, len(actions) - size)
    assert is_subsequence_around(actions, child, len(actions) - len(child))


@given(OLD, SIZE, RNG)
def test_change_replaces_one_run(actions, size, rng) -> None:
    child = change(actions, size, SOURCE, rng, independent=False)
    new = [place for place, action in enumerate(child) if action in (0, 1)]
    assert len(child) == len(actions)
    assert new == list(range(new[0], new[0] + min(size, len(actions))))
    assert all(child[place] == actions[place] for place in range(len(child)) if place not in new)


@given(OLD, SIZE, RNG)
def test_append_adds_at_the_end(actions, size, rng) -> None:
    child = append(actions, size, SOURCE, rng, independent=False)
    assert child[: len(actions)] == actions
    assert len(child) == len(actions) + size
    assert len(set(child[len(actions) :])) == 1


def test_independent_runs_are_drawn_action_by_action() -> None:
    child = append((8,), 200, SOURCE, np.random.default_rng(0), independent=True)[1:]
    assert stats.binomtest(sum(child), 200).pvalue > 0.001
    assert len(list(groupby(child))) > 60


@given(OLD, RNG, st.floats(0.05, 1.0))
def test_mutation_never_empties_a_trace(actions, rng, stop) -> None:
    assert len(mutate(actions, SOURCE, rng, stop=stop)) >= 1


def test_mutation_stops_after_each_operator_with_the_given_probability() -> None:
    rng = np.random.default_rng(1)
    added = [len(mutate((8,), SOURCE, rng, size=1, stop=0.2, operators=("append",))) - 1 for _ in range(4000)]
    expected = [4000 * 0.2 * 0.8**k for k in range(15)]
    counts = [added.count(k + 1) for k in range(15)]
    rest = 4000 - sum(counts), 4000 - sum(expected)
    assert stats.chisquare([*counts, rest[0]], [*expected, rest[1]]).pvalue > 0.001


def test_run_lengths_and_operators_are_uniform() -> None:
    rng = np.random.default_rng(2)
    sizes = [len(mutate((8,), SOURCE, rng, size=15, stop=1.0, operators=("append",))) - 1 for _ in range(3000)]
    assert stats.chisquare([sizes.count(size) for size in range(1, 16)]).pvalue > 0.001
    kinds = {"longer": 0, "shorter": 0, "same": 0}
    for _ in range(3000):
        length = len(mutate((8,) * 50, SOURCE, rng, stop=1.0))
        kinds["longer" if length > 50 else "shorter" if length < 50 else "same"] += 1
    assert stats.chisquare(list(kinds.values()), [1500, 750, 750]).pvalue > 0.001


def test_places_are_uniform() -> None:
    rng = np.random.default_rng(3)
    inserted = [insert((8,) * 9, 1, SOURCE, rng, False) for _ in range(3000)]
    places = [next(place for place, action in enumerate(child) if action in (0, 1)) for child in inserted]
    assert stats.chisquare([places.count(place) for place in range(10)]).pvalue > 0.001


@given(OLD, OLD, RNG)
def test_crossover_joins_a_beginning_and_an_end(first, second, rng) -> None:
    child = cross(first, second, rng)
    if min(len(first), len(second)) < 2:
        assert child is None
        return
    assert child is not None
    assert len(child) == len(second)
    assert any(child == first[:cut] + second[cut:] for cut in range(1, min(len(first), len(second))))


def test_crossover_cuts_uniformly() -> None:
    rng = np.random.default_rng(4)
    cuts = [cross((0,) * 6, (1,) * 9, rng).count(0) for _ in range(3000)]  # type: ignore[union-attr]
    assert set(cuts) == {1, 2, 3, 4, 5}
    assert stats.chisquare([cuts.count(cut) for cut in range(1, 6)]).pvalue > 0.001
