"""Budgets, seeds, outcomes, errors, references."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tightrope import errors
from tightrope.budget import Budget
from tightrope.errors import MissingExtra, TightropeError, UnknownName, UsageError, require_extra
from tightrope.outcome import Outcome
from tightrope.progress import Progress
from tightrope.reference import BoundaryState, Reference
from tightrope.seeding import derive_seed, generator, stable_hash
from tightrope.trace import ActionTrace, Step, Trace


def test_a_budget_of_steps() -> None:
    meter = Budget(steps=3).start()
    meter.spend(2)
    assert not meter.spent
    assert meter.remaining() == Budget(steps=1)
    meter.spend()
    assert meter.spent


def test_a_budget_of_seconds() -> None:
    assert Budget(seconds=0).start().spent
    meter = Budget(seconds=1000).start()
    assert not meter.spent
    left = meter.remaining().seconds
    assert left is not None
    assert 990 < left <= 1000
    assert meter.seconds < 10


def test_budgets_are_shared_and_checked() -> None:
    assert Budget(seconds=10, steps=11).share(0.5) == Budget(seconds=5, steps=5)
    assert Budget().share(0.5) == Budget()
    assert not Budget().start().spent
    with pytest.raises(UsageError, match="steps must be 0 or more, not -1"):
        Budget(steps=-1)


@given(st.lists(st.one_of(st.integers(), st.text()), min_size=1, max_size=4))
def test_seeds_depend_on_the_parts_alone(parts: list[object]) -> None:
    assert 0 <= derive_seed(*parts) < 2**31
    assert derive_seed(*parts) == derive_seed(*parts)
    assert generator(*parts).random() == generator(*parts).random()
    assert derive_seed(*parts) != derive_seed(*parts, "more")


def test_stable_hashes_are_the_same_in_every_process() -> None:
    code = "from tightrope.seeding import stable_hash; print(stable_hash(('a', 1, b'x', frozenset({'u', 'v'}))))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
    assert stable_hash((np.int64(3), np.float64(0.5))) == stable_hash((3, 0.5))
    assert len({stable_hash(value) for value in (1, "1", 1.0, (1,), b"1", True)}) == 6


def test_outcomes() -> None:
    assert not Outcome.ONGOING.terminal
    assert all(outcome.terminal for outcome in Outcome if outcome is not Outcome.ONGOING)


def test_unknown_names_offer_near_ones() -> None:
    error = UnknownName("task", "mraio", ["mario", "taxi"], hint="More: `tightrope tasks`.")
    assert str(error) == "There is no task named 'mraio'. Did you mean 'mario'? More: `tightrope tasks`."
    assert error.suggestions == ["mario"]
    far = UnknownName("task", "zzzz", [f"name-{number:03}" for number in range(100)])
    assert "name-029, …" in str(far)


def test_missing_extras_say_how_to_get_them() -> None:
    with pytest.raises(MissingExtra, match=r"needs no_such_library.*pip install 'tightrope\[video\]'"):
        require_extra("no_such_library", "video", "writing a video")
    assert require_extra("json", "video", "anything").__name__ == "json"


def test_a_library_that_lacks_something_itself_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needy_library.py").write_text("import no_such_need.part\n")
    (tmp_path / "broken_library.py").write_text("raise ImportError('libX.so is too old')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtra, match=r"needy_library, which cannot be imported: No .*\[video\]' no_such_need"):
        require_extra("needy_library", "video", "writing a video")
    with pytest.raises(MissingExtra, match=r"broken_library, which cannot be imported: libX\.so is too old"):
        require_extra("broken_library", "video", "writing a video")


def test_every_error_has_one_root() -> None:
    raised = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert all(issubclass(error, TightropeError) for error in raised)


def test_a_reference_reads_off_its_boundary_states() -> None:
    trace = Trace("a", (Step(0, 1.0, "b", Outcome.GOAL),))
    state = BoundaryState(depth=0, key="a", actions=(1,), proven=True, evidence={"unsafe": 1})
    reference = Reference(trace=trace, actions=ActionTrace("task", 0, (0,)), boundary_states=(state,), method="dfs")
    assert (len(reference), reference.depths, reference.proven) == (1, (0,), 1)
    assert reference.checksums == (stable_hash("a"), stable_hash("b"))
    assert repr(reference) == "Reference('task', 1 actions, 1 boundary states, 1 proven, by dfs)"
    assert Progress("search", 1, None).note == ""
