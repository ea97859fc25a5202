"""Action traces: plans, prefixes, identifiers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tightrope.outcome import Outcome
from tightrope.trace import ActionTrace, Step, Trace, content_id

ACTIONS = st.lists(st.one_of(st.integers(0, 5), st.tuples(st.floats(-1, 1), st.floats(-1, 1))), max_size=12)


@given(actions=ACTIONS, cut=st.integers(0, 12))
def test_prefix_and_suffix_make_the_whole(actions: list[int], cut: int) -> None:
    trace = ActionTrace("task", 3, tuple(actions))
    cut = min(cut, len(trace))
    assert trace.prefix(cut).then(trace.suffix(cut)) == trace
    assert len(trace.prefix(cut)) == cut


def test_a_prefix_keeps_only_the_random_events_before_its_end() -> None:
    trace = ActionTrace("task", 0, (1, 2, 3), reseeds=((0, 7), (2, 8), (3, 9)))
    assert trace.prefix(2).reseeds == ((0, 7),)
    assert trace.prefix(3).reseeds == ((0, 7), (2, 8))


@pytest.mark.parametrize("length", [-1, 4])
def test_a_prefix_outside_the_trace(length: int) -> None:
    with pytest.raises(ValueError, match=f"a prefix of {length} actions does not lie within a trace of 3"):
        ActionTrace("task", 0, (1, 2, 3)).prefix(length)


def test_identifiers_depend_on_the_content_alone() -> None:
    trace = ActionTrace("task", 0, (1, (0.5, -1.0)))
    assert trace.id == ActionTrace("task", 0, (1, (0.5, -1.0))).id
    others = [
        ActionTrace("other", 0, trace.actions),
        ActionTrace("task", 1, trace.actions),
        ActionTrace("task", 0, trace.actions[:1]),
        ActionTrace("task", 0, trace.actions, ((0, 1),)),
    ]
    assert len({trace.id, *(other.id for other in others)}) == 5
    assert content_id("a", 1) == content_id("a", 1) != content_id("a", 2)


def test_a_trace_of_what_happened() -> None:
    steps = (Step(1, -1.0, "b", Outcome.ONGOING), Step(0, 9.0, "c", Outcome.GOAL))
    trace = Trace("a", steps)
    assert (trace.actions, trace.rewards, trace.keys) == ((1, 0), (-1.0, 9.0), ("a", "b", "c"))
    assert (trace.total_reward, trace.outcome, len(trace)) == (8.0, Outcome.GOAL, 2)
    assert Trace("a", ()).outcome is Outcome.ONGOING
    assert repr(ActionTrace("task", 0, (1, 2))) == "ActionTrace('task', seed=0, 2 actions)"
