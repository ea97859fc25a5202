import json

from hypothesis import given
from hypothesis import strategies as st

from tightrope.statistics import ON_THESE_CASES, Estimate


def test_nothing_measured_reads_no_data() -> None:
    nothing = Estimate.of_nothing()
    assert (nothing.value, nothing.low, nothing.high, nothing.n) == (None, None, None, 0)
    assert str(nothing) == "no data"


def test_one_execution_that_stands_for_all_has_no_width() -> None:
    certain = Estimate.certain(0.25)
    assert (certain.value, certain.low, certain.high, certain.n) == (0.25, 0.25, 0.25, 1)
    assert "one execution stands for all" in certain.method


def test_format() -> None:
    assert str(Estimate(0.12, 0.05, 0.26, 50, "m")) == "0.12 [0.05, 0.26] n=50"
    assert f"{Estimate(0.12, 0.05, 0.26, 50, 'm'):.1%}" == "12.0% [5.0%, 26.0%] n=50"
    assert str(Estimate(3.0, None, None, 1, "m")) == "3 n=1"


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 10**6))
def test_survives_json(value: float, n: int) -> None:
    estimate = Estimate(value, value - 1, None, n, "method")
    assert Estimate.from_json(json.loads(json.dumps(estimate.to_json()))) == estimate


def test_the_question_is_kept_said_and_read_back() -> None:
    asked = Estimate(0.12, 0.05, 0.26, 50, "m").answering(ON_THESE_CASES)
    assert str(asked) == f"{asked}" == "0.12 [0.05, 0.26] n=50 on these cases"
    assert f"{asked:.2f}" == "0.12 [0.05, 0.26] n=50"
    assert Estimate.from_json(asked.to_json()) == asked


def test_files_from_before_questions_are_read() -> None:
    old = {"value": 0.5, "low": 0.1, "high": 0.9, "n": 4, "method": "m"}
    assert Estimate.from_json(old) == Estimate(0.5, 0.1, 0.9, 4, "m", "")


def test_a_value_alone_says_why() -> None:
    alone = Estimate(0.12, 0.05, 0.26, 50, "m", ON_THESE_CASES).without_interval("stopped early")
    assert (alone.value, alone.low, alone.high, alone.method) == (0.12, None, None, "stopped early")
    assert alone.question == ON_THESE_CASES


def test_only_a_whole_interval_lies_on_one_side_of_zero() -> None:
    sides = {
        (0.1, 0.05, 0.2): (True, False),
        (-0.1, -0.2, -0.05): (False, True),
        (0.1, 0.0, 0.2): (False, False),
        (0.1, -0.1, 0.3): (False, False),
        (0.1, None, None): (False, False),
    }
    found = {each: Estimate(*each, 9, "by hand") for each in sides}
    assert {each: (one.above_zero, one.below_zero) for each, one in found.items()} == sides
