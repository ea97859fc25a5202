import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.safety.corridor import CORRIDOR, reference_of
from tightrope.errors import FormatError
from tightrope.safety import (
    TestSuite,
    action_coverage_suite,
    interval_suite,
    load_suite,
    random_suite,
    save_suite,
    simple_suite,
)
from tightrope.safety.suites.files import suite_from_json, suite_to_json

reference = reference_of(CORRIDOR, reseeds=((0, 5), (3, 6)))
SUITES = [
    simple_suite(reference),
    interval_suite(reference, 2),
    action_coverage_suite(reference, 2, (0, 1)),
    random_suite(CORRIDOR, 4, like=interval_suite(reference, 1)),
    simple_suite(reference_of(CORRIDOR, depths=())),
]


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_a_suite_is_one_file_and_comes_back_whole(suite: TestSuite, tmp_path: Path) -> None:
    path = save_suite(suite, tmp_path / "corridor.suite.json")
    assert [file.name for file in tmp_path.iterdir()] == ["corridor.suite.json"]
    loaded = load_suite(path)
    assert loaded == suite
    assert loaded.id == suite.id
    assert [case.id for case in loaded.cases] == [case.id for case in suite.cases]


def test_actions_of_continuous_tasks_come_back_as_tuples() -> None:
    suite = action_coverage_suite(reference, 1, ((0.5, -1.0), (0.25, 1.0)))
    loaded = suite_from_json(json.loads(json.dumps(suite_to_json(suite))))
    assert loaded == suite
    assert loaded.cases[0].added == ((0.5, -1.0),)


def test_what_is_no_suite_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.suite.json"
    for text, words in (
        ("not json", "not a JSON file"),
        ("[]", "holds a JSON list, not a 'tightrope/suite' object"),
        ('{"format": "tightrope/reference", "version": 1}', "'tightrope/reference'"),
        ('{"format": "tightrope/suite", "version": 99}', "Update tightrope"),
        ('{"format": "tightrope/suite", "version": 1}', "damaged"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=words):
            load_suite(path)


def test_a_changed_file_is_noticed() -> None:
    data = suite_to_json(SUITES[0])
    data["reference"][0] = 1
    with pytest.raises(FormatError, match="has the id"):
        suite_from_json(data)
    for place, value in ((1, 99), (0, -1), (0, 99)):
        data = suite_to_json(SUITES[0])
        data["cases"][0][place] = value
        with pytest.raises(FormatError, match="damaged"):
            suite_from_json(data)


def test_a_case_remembers_its_reference_and_files_from_before_have_one() -> None:
    one = interval_suite(reference, 1)
    two = TestSuite.joined([one, one])
    assert two.id != one.id
    written = json.loads(json.dumps(suite_to_json(two)))
    assert suite_from_json(written) == two
    assert all(len(case) == 3 for case in suite_to_json(one)["cases"]), "as it was written before there were several"
    assert {case.reference for case in suite_from_json(suite_to_json(one)).cases} == {0}


def test_marks_of_doom_are_part_of_the_id() -> None:
    """They say which cases count at no gate, if they are true."""
    data = suite_to_json(SUITES[0])
    data["doomed"] = [[2, 0, 5]]
    with pytest.raises(FormatError, match="has the id"):
        suite_from_json(data)


def test_suites_of_the_first_version_are_still_read() -> None:
    """Their ids left out the marks; all else is checked as it was."""
    marked = replace(SUITES[0], doomed=((2, 0, 5),))
    data = suite_to_json(marked) | {"version": 1, "id": replace(marked, doomed=()).id}
    loaded = suite_from_json(data)
    assert loaded == marked
    assert loaded.id == marked.id != data["id"]
    with pytest.raises(FormatError, match="has the id"):
        suite_from_json(data | {"depths": [1, 3]})
