"""results.json: what other programs read."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from tests.report.synthetic import grid_run, mario_like_run, several_results, with_result
from tightrope.report import Results, results_to_json
from tightrope.report.measures import MEASURES
from tightrope.statistics import Estimate


def test_it_is_json_with_a_name_and_a_version() -> None:
    content = results_to_json(several_results())
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert (content["format"], content["version"]) == ("tightrope/results", 3)
    assert [run["name"] for run in content["runs"]] == ["1-1 dense", "FrozenLake", "CartPole", "nothing"]


def test_every_estimate_is_there_with_its_question() -> None:
    run = mario_like_run()
    for stored, suite in zip(
        results_to_json(Results(title="t", runs=(run,)))["runs"][0]["suites"], run.suites, strict=True
    ):
        for measure in MEASURES:
            assert Estimate.from_json(stored[measure.name]) == measure.of(suite.result)
    assert stored["fail_frequency"]["question"] == "on these cases"


def test_a_case_can_be_found_and_replayed_from_it() -> None:
    run = grid_run()
    stored = results_to_json(Results(title="t", runs=(run,)))["runs"][0]["suites"][0]["cases"]
    result = run.safety["simple"]["ppo"]
    assert [case["place"] for case in stored] == [1, 2, 3, 4, 5]
    assert [case["standing"] for case in stored] == ["passed", "failed", "failed", "failed", "invalid"]
    failing = result.cases[1].failing_episodes[0].trace
    assert stored[1]["failing_trace"]["actions"] == list(failing.actions)
    assert stored[1]["replay"] == f"tightrope replay run {result.cases[1].case.id} --agent ppo"


def test_what_overflowed_reads_no_data() -> None:
    run = with_result(grid_run(), mean_return=Estimate(math.inf, -math.inf, math.nan, 3, "x"))
    stored = results_to_json(Results(title="t", runs=(replace(run, name="r"),)))["runs"][0]["suites"][0]
    assert stored["mean_return"]["value"] is None
