"""Which boundary states are tested: as many as may be, wherever they lie."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tightrope as tr
from tightrope.reference import BoundaryState, Reference
from tightrope.runs.steps.safety_step import tested_states as chosen_states
from tightrope.settings import SafetyConfig


@pytest.fixture(scope="module")
def reference() -> Reference:
    found = tr.search(tr.make_task("FrozenLake-v1", is_slippery=False)).reference
    assert found is not None
    return found


def _with_states(reference: Reference, count: int) -> Reference:
    state = BoundaryState(depth=0, key=0, actions=(0,), proven=True, evidence={})
    return replace(reference, boundary_states=tuple(replace(state, depth=depth) for depth in range(count)))


@pytest.mark.parametrize(
    ("there", "tested"),
    [
        ((0, 0, 143, 0), (0, 0, 40, 0)),
        ((3, 100, 100, 1), (3, 18, 18, 1)),
        ((10, 10, 10, 10), (10, 10, 10, 10)),
        ((5, 5), (5, 5)),
        ((41,), (41,)),
    ],
)
def test_what_one_reference_has_no_use_for_goes_to_the_others(
    reference: Reference, there: tuple[int, ...], tested: tuple[int, ...]
) -> None:
    chosen = chosen_states([_with_states(reference, count) for count in there], SafetyConfig())
    assert tuple(len(each.boundary_states) for each in chosen) == tested
    for kept, count in zip(chosen, there, strict=True):
        depths = list(kept.depths)
        assert depths == sorted(set(depths))
        if len(depths) > 1:
            assert (depths[0], depths[-1]) == (0, count - 1), "from its first to its last"
