from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from tests.report.synthetic import broken_run, empty_run, full_results, grid_run, one_place, several_results, strip_run
from tightrope.report import Finding, Results
from tightrope.report.charts import SECTIONS
from tightrope.report.charts.chart import Chart, Table, chart_series, plain_point, plot_view
from tightrope.report.writers.page import finding_blocks, render_page

NASTY = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'


def page_of(*runs: object) -> str:
    return render_page(Results(title="title", runs=runs))  # type: ignore[arg-type]


def test_nothing_points_to_the_network() -> None:
    page = render_page(several_results())
    addresses = re.findall(r"https?://[^\s\"'<]+", page)
    assert set(addresses) == {"http://www.w3.org/2000/svg"}, "only the name of SVG, which is never fetched"


def test_names_cannot_become_code() -> None:
    run = grid_run()
    agents = tuple(replace(agent, name=NASTY) for agent in run.agents)
    safety = {NASTY: {NASTY: replace(run.safety["simple"]["ppo"], agent=NASTY)}}
    page = render_page(Results(title=NASTY, runs=(replace(run, name=NASTY, agents=agents, safety=safety),)))
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert page.count("</script>") == 2


def test_the_data_is_json() -> None:
    page = render_page(full_results())
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    assert data["runs"][0]["agents"] == ["2-moves", "basic", "right-complex"]


def test_what_has_no_place_on_the_map_keeps_its_index() -> None:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page_of(broken_run()), re.DOTALL)
    assert found is not None
    run = json.loads(found[1])["runs"][0]
    assert [index for index, point in enumerate(run["map"]["ways"][0]) if point is None] == [3]
    assert [place["number"] for place in run["places"] if place["position"] is None] == [3]


def test_the_verdict_stands_in_the_page_itself() -> None:
    assert "of the tests on these 37 cases" in render_page(full_results())


def test_how_many_boundary_states_are_proven_is_told_as_one_would_say_it() -> None:
    told = [page_of(run) for run in (one_place(), strip_run(), *full_results().runs)]
    expected = ("1 boundary state, proven", "7 boundary states, all proven", "10 of them proven")
    for page, words in zip(told, expected, strict=True):
        assert page.count(words) == 2


def test_what_is_missing_says_no_data() -> None:
    page = page_of(empty_run())
    for words in ("performance was not compared", "nothing was fuzzed", "No reference was found: budget spent"):
        assert words in page
    assert "This run is not finished" in page


def test_a_square_map_stands_beside_the_verdict() -> None:
    assert 'class="hero"' in page_of(grid_run())
    assert 'class="hero wide"' in page_of(strip_run())


def test_notes_are_shown() -> None:
    assert "no film because" in render_page(full_results(), notes=["no film because"])


def test_a_finding_has_paragraphs_and_lists() -> None:
    blocks = finding_blocks(Finding(title="t", text="one\ntwo\n\n- a\n- b\n\nthree"))
    assert blocks == [("p", ["one two"]), ("ul", ["a", "b"]), ("p", ["three"])]


def test_the_same_results_make_the_same_page() -> None:
    assert render_page(full_results()) == render_page(full_results())


def test_a_chart_in_the_list_of_a_section_is_all_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    view = plot_view("only", [chart_series("agent", 0, [plain_point(0.5, "made up", x=1)])])
    table = Table(header=("x",), rows=(("1",),))
    mine = Chart(id="mine", kind="plot", title="Mine alone", views=(view,), table=table)
    monkeypatch.setitem(SECTIONS, "safety", (*SECTIONS["safety"], lambda run: (mine,)))
    page = page_of(grid_run())
    assert "<figcaption>Mine alone</figcaption>" in page
    assert 'data-chart="run0/mine"' in page
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert "mine" in [chart["id"] for chart in json.loads(found[1])["runs"][0]["charts"]]
