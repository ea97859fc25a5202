"""The report in a real browser."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from tests.report.browsing import AUDIT, LAPTOP, MADE, PHONE, Visit, axe
from tests.report.synthetic import full_results
from tightrope.report.definitions import WORDS

CUT = """[...document.querySelectorAll("main *")]
    .filter(node => node.checkVisibility() && !node.closest("svg, details, .visually-hidden"))
    .filter(node => /auto|scroll|hidden/.test(getComputedStyle(node).overflowY))
    .filter(node => node.scrollHeight > node.clientHeight + 2).map(node => node.className)"""
BELOW = "node => node.closest('section').getBoundingClientRect().bottom - node.getBoundingClientRect().bottom"
PAPER = {"width": 718, "height": 1000}
"""An A4 page within its margins."""
PIN = 18
"""Pixels across."""
PARTS = """[...document.querySelectorAll("main section, figure.chart, .verdict, .ranking, .shot")]
    .filter(node => node.checkVisibility()).map(node => node.getBoundingClientRect().toJSON())"""
SPILLED = """[...document.querySelectorAll("main p, main td, main th, main button, main summary, svg.heat")]
    .filter(node => node.checkVisibility() && node.getBoundingClientRect().right > innerWidth + 1)
    .filter(node => !node.closest(".wide, .cases, .scroll, .window, .command, .visually-hidden"))
    .map(node => node.outerHTML.slice(0, 80))"""


def overlapping(boxes: list[dict[str, float]]) -> list[tuple[dict[str, float], dict[str, float]]]:
    """Parts that lie on each other, neither within the other."""
    return [
        (one, other)
        for index, one in enumerate(boxes)
        for other in boxes[index + 1 :]
        if not (other["top"] >= one["top"] - 1 and other["bottom"] <= one["bottom"] + 1)
        and other["top"] < one["bottom"] - 1
        and other["bottom"] > one["top"] + 1
        and other["left"] < one["right"] - 1
        and other["right"] > one["left"] + 1
    ]


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("context", [{}, {"color_scheme": "dark", "viewport": PHONE}], ids=["laptop", "dark phone"])
def test_it_loads_quietly_and_fits(browser: Any, reports: dict[str, Path], name: str, context: dict[str, Any]) -> None:
    with Visit(browser, reports[name], **context) as visit:
        assert visit.complaints == []
        assert [url for url in visit.requests if not url.startswith(("file:", "data:"))] == []
        assert visit.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert visit.page.evaluate(SPILLED) == []
        assert overlapping(visit.page.evaluate(PARTS)) == []
        if visit.page.locator(".pin").count():
            visit.page.locator(".pin[tabindex='0']").first.press("Enter")
        assert visit.page.evaluate(AUDIT) == []
        visit.page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        assert axe(visit.page) == []
        assert visit.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, "nor with a place open"


def test_every_chart_is_drawn_and_has_its_table(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["full"]) as visit:
        charts = visit.page.locator(".canvas").all()
        assert len(charts) == 12
        for chart in charts:
            assert chart.locator(".mark").count() > 3
        assert visit.page.locator("figure.chart details.numbers table").count() == len(charts)


def test_the_map_shows_every_boundary_state(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["full"]) as visit:
        assert visit.page.locator(".map .pin").count() == 13
        assert visit.page.locator(".map image").count() == 2, "a wide level is broken into rows"
        assert visit.page.locator(".map .pin").first.bounding_box()["y"] < LAPTOP["height"], "on the first screen"


def test_what_has_no_place_on_the_map_is_left_out(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["broken"]) as visit:
        places = [pin.get_attribute("data-place") for pin in visit.page.locator(".map .pin").all()]
        assert places == ["1", "2", "4", "5"]
        for line, points in (("path", 6), ("casing", 6), ("trace", 7)):
            drawn = visit.page.locator(f".map .{line}").get_attribute("d")
            assert (drawn.count("M"), drawn.count("L")) == (2, points - 2), f"the {line} is broken, not bridged"
            assert "M160,32L" in drawn or "L160,32M" in drawn
        visit.page.locator(".map .pin").nth(1).click()
        panel = visit.page.locator(".panel")
        panel.get_by_label("Next place").click()
        assert "Place #3 of 5" in panel.inner_text(), "its cases can be seen all the same"
        panel.get_by_label("Close").click()
        assert visit.complaints == []


def test_without_a_map_they_stand_on_a_line(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["strip"]) as visit:
        assert visit.page.locator(".map .strip .pin, .map svg.strip .pin").count() == 7


def test_clicking_a_boundary_state_shows_its_cases(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["full"]) as visit:
        panel = visit.page.locator(".panel")
        assert panel.is_hidden()
        visit.page.locator(".pin").nth(4).click()
        assert "Place #5 of 13" in panel.inner_text()
        assert panel.locator(".cases tbody tr").count() == 3
        assert "#agent=right-complex&suite=interval%3A1&place=5" in visit.page.url
        visit.page.locator(".choices button", has_text="coverage:1").click()
        assert panel.locator(".cases tbody tr").count() == 7
        panel.get_by_label("Next place").click()
        assert "Place #6 of 13" in panel.inner_text()
        panel.get_by_label("Close").click()
        assert panel.is_hidden()
        assert visit.complaints == []


def test_choosing_another_agent_recolours_the_map(browser: Any, reports: dict[str, Path]) -> None:
    fills = "[...document.querySelectorAll('.pin .head')].map(circle => circle.getAttribute('fill')).join()"
    with Visit(browser, reports["full"]) as visit:
        before = visit.page.evaluate(fills)
        visit.page.locator(".choices button", has_text="2-moves").click()
        assert visit.page.evaluate(fills) != before


def test_the_keyboard_is_enough(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["full"]) as visit:
        visit.page.locator(".pin[tabindex='0']").focus()
        visit.page.keyboard.press("ArrowRight")
        visit.page.keyboard.press("ArrowRight")
        visit.page.keyboard.press("Enter")
        assert "Place #3 of 13" in visit.page.locator(".panel").inner_text()
        chart = visit.page.locator('[data-chart="run0/places"] svg[role=group]')
        chart.focus()
        visit.page.keyboard.press("ArrowRight")
        assert "n\u00a0=\u00a0" in visit.page.locator("#tip").inner_text()
        visit.page.keyboard.press("Enter")
        assert "Place #1 of 13" in visit.page.locator(".panel").inner_text()


def test_hovering_tells_value_interval_and_n(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["full"]) as visit:
        mark = visit.page.locator('[data-chart="run0/suites"] .mark').nth(6)
        mark.scroll_into_view_if_needed()
        box = mark.bounding_box()
        visit.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        text = visit.page.locator("#tip").inner_text()
        assert "–" in text
        assert "n\u00a0=\u00a0" in text
        assert "Clopper" in text or "95" in text


def test_nothing_measured_is_told_on_the_map(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["grid"]) as visit:
        last = visit.page.locator(".pin").nth(4)
        assert "no data" in last.get_attribute("aria-label")
        last.click()
        assert "invalid" in visit.page.locator(".panel .cases").inner_text()


def test_a_video_plays(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["pond"]) as visit:
        assert visit.page.locator(".films video").count() == 3
        visit.page.locator(".pin").first.click()
        video = visit.page.locator(".panel video")
        played = """video => new Promise((tell, fail) => {
            setTimeout(() => fail(new Error("the video does not play")), 10000);
            video.addEventListener("timeupdate", () => { if (video.currentTime > 0.2) tell(video.videoWidth); });
        })"""
        assert video.evaluate(played) >= 480, "no smaller than the game"
        caption = visit.page.locator(".panel .caption")
        assert caption.inner_text().startswith("step ")
        video.evaluate("video => { video.pause(); video.currentTime = video.duration - 0.1; }")
        visit.page.wait_for_selector(".panel .caption.failing")
        assert "unsafe" in caption.inner_text()
        assert visit.complaints == []


WIDE_TEXT = """[...document.querySelectorAll(".panel td *, .cases.all td *")].filter(node => node.checkVisibility())
    .filter(node => getComputedStyle(node).textOverflow !== "ellipsis" && node.scrollWidth > node.clientWidth + 1 && node.clientWidth)
    .map(node => node.className)"""  # noqa: E501


def test_beside_a_film_the_cases_of_a_place_are_not_cut(browser: Any, reports: dict[str, Path]) -> None:
    for viewport in (LAPTOP, PHONE):
        with Visit(browser, reports["pond"], viewport=viewport) as visit:
            visit.page.locator(".pin").first.click()
            panel = visit.page.locator(".panel")
            assert panel.locator("video").count() == 1
            table = panel.locator(".cases")
            assert table.evaluate("node => node.scrollWidth - node.clientWidth") <= 0
            assert table.get_by_role("button", name="copy replay").first.is_visible()
            assert visit.page.evaluate(WIDE_TEXT) == []


def test_over_the_watch_length_nothing_rises_before_something_happened(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["full"]) as visit:
        curve = visit.page.locator('[data-chart="run0/watch"] .curve').first.get_attribute("d")
        assert re.fullmatch(r"M[\d. ]+(H[\d.]+V[\d.]+)+", curve), "it goes along, then up, never aslant"


def test_an_address_without_a_place_closes_the_one_that_is_open(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["full"]) as visit:
        visit.page.goto(f"{reports['full'].as_uri()}#agent=basic&suite=simple&place=7")
        visit.page.locator(".panel").wait_for(state="visible")
        visit.page.goto(f"{reports['full'].as_uri()}#agent=basic&suite=simple")
        visit.page.locator(".panel").wait_for(state="hidden")


def test_measures_are_switched_together(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["full"]) as visit:
        visit.page.locator(".switch button", has_text="goals reached").click()
        titles = visit.page.locator('[data-chart^="run0/performance"] .axis-title').all_text_contents()
        assert titles.count("goals reached") == 3


def test_several_runs_have_tabs(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["several"]) as visit:
        visible = "[...document.querySelectorAll('[data-run-section]')].filter(a => !a.hidden).map(a => a.id).join()"
        assert visit.page.evaluate(visible) == "run0"
        visit.page.locator(".tabs button", has_text="CartPole").click()
        assert visit.page.evaluate(visible) == "run2"
        assert visit.page.locator("#run2 .canvas svg[role=group]").count() > 1
        assert visit.complaints == []


@pytest.mark.parametrize("name", ["full", "sixteen", "many", "one place"])
def test_on_paper_nothing_is_cut_or_lies_on_something_else(browser: Any, reports: dict[str, Path], name: str) -> None:
    with Visit(browser, reports[name], viewport=PAPER) as visit:
        visit.page.emulate_media(media="print")
        assert visit.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert overlapping(visit.page.evaluate(PARTS)) == []
        assert visit.page.evaluate(CUT) == []
        for table in visit.page.locator(".cases table:visible").all():
            assert table.evaluate(BELOW) >= -1, "a table ends before its section does"


def test_it_prints(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["several"]) as visit:
        visit.page.emulate_media(media="print")
        assert visit.page.locator(".filters, .zoom").first.is_hidden()
        paper = visit.page.pdf(format="A4")
        assert paper.startswith(b"%PDF")
        assert visit.complaints == []


def test_without_script_the_verdict_and_the_tables_are_there(browser: Any, reports: dict[str, Path]) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(reports["full"].as_uri())
    assert "of the tests on these 37 cases" in page.locator("main").inner_text()
    assert page.locator("table").count() >= 9
    context.close()


def test_the_map_opens_on_the_agent_that_the_headline_speaks_of(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["full"]) as visit:
        assert visit.page.locator(".choices [aria-pressed=true]").all_text_contents() == ["right-complex", "interval:1"]
        said = visit.page.locator(".says").first
        assert said.locator(".badge").inner_text().lower() == "failed"
        assert said.bounding_box()["y"] < 200
        gates = visit.page.locator(".headline .gates li")
        assert gates.count() == 3
        assert gates.last.bounding_box()["y"] < LAPTOP["height"], "on the first screen"


def test_a_link_leads_to_a_place_and_survives_a_reload(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["full"]) as visit:
        panel = visit.page.locator(".panel")
        visit.page.goto(f"{reports['full'].as_uri()}#agent=basic&suite=coverage:1&place=7")
        visit.page.reload()
        visit.page.wait_for_selector("html[data-ready]")
        assert "Place #7 of 13" in panel.inner_text()
        assert visit.page.locator(".choices [aria-pressed=true]").all_text_contents() == ["basic", "coverage:1"]
        visit.page.keyboard.press("Escape")
        assert panel.is_hidden()
        assert "place=" not in visit.page.url
        visit.page.locator(".says a").first.click()
        assert "Place #11 of 13" in panel.inner_text()
        assert visit.page.locator(".choices [aria-pressed=true]").first.inner_text() == "right-complex"
        assert visit.complaints == []


def test_what_is_not_there_cannot_be_opened_by_a_link(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, Path(f"{reports['full']}")) as visit:
        visit.page.goto(f"{reports['full'].as_uri()}#agent=nobody&suite=<b>&place=99")
        visit.page.reload()
        visit.page.wait_for_selector("html[data-ready]")
        assert visit.page.locator(".panel").is_hidden()
        assert visit.complaints == []


def test_a_link_names_the_run_where_there_are_several(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["several"]) as visit:
        visit.page.goto(f"{reports['several'].as_uri()}#run=run1&agent=ppo&suite=simple&place=3")
        assert "Place #3 of 5" in visit.page.locator("#run1 .panel").inner_text()
        assert visit.page.locator("#run0").is_hidden()


def test_cases_are_sorted_filtered_and_searched(browser: Any, reports: dict[str, Path]) -> None:
    cases = [case for suite in full_results().runs[0].suites if not suite.control for case in suite.cases]
    with Visit(browser, reports["full"]) as visit:
        table = visit.page.locator("[data-cases]")
        rows, told = table.locator("tbody tr"), table.locator("[role=status]")
        assert f"of {len(cases)} cases" in told.inner_text()
        for blame in ("avoidable", "doomed", "not known"):
            table.locator("[data-filter=blame]").select_option(blame)
            expected = sum(case.blame == blame for case in cases)
            assert f"{expected} of {len(cases)} cases" in told.inner_text()
            assert set(rows.locator(".badge").all_text_contents()) == {blame}
        table.locator("[data-filter=blame]").select_option("")
        table.locator("[data-filter=agent]").select_option("basic")
        table.locator("[data-filter=flaky]").check()
        expected = sum(case.flaky and case.suite.agent == "basic" for case in cases)
        assert f"{expected} of {len(cases)} cases" in told.inner_text()
        table.locator("[data-filter=flaky]").uncheck()
        table.locator("[data-filter=text]").fill("#7")
        assert set(rows.locator("a").all_text_contents()) == {"#7"}
        table.get_by_role("button", name="return").click()
        assert table.locator("th[aria-sort=descending]").inner_text().startswith("return")
        shown = [float(text) for text in rows.locator("td[data-label=return]").all_inner_texts()]
        assert shown == sorted(shown, reverse=True)
        table.locator("[data-filter=text]").fill("no such thing")
        assert told.inner_text() == "no case matches"
        assert visit.complaints == []


def test_the_map_is_zoomed_and_panned(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["full"]) as visit:
        window = visit.page.locator(".map .window")
        before = window.evaluate("node => node.scrollWidth")
        visit.page.get_by_label("Zoom in").click()
        assert window.evaluate("node => node.scrollWidth") > 1.4 * before
        window.evaluate("node => node.scrollTo(0, 0)")
        box = window.bounding_box()
        visit.page.mouse.move(box["x"] + 400, box["y"] + 100)
        visit.page.mouse.down()
        visit.page.mouse.move(box["x"] + 200, box["y"] + 100)
        visit.page.mouse.up()
        assert window.evaluate("node => node.scrollLeft") == 200
        visit.page.get_by_label("Show all of the map").click()
        assert window.evaluate("node => node.scrollWidth") == before


def test_what_has_no_data_is_hatched_and_every_pin_has_a_halo(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["grid"]) as visit:
        fills = visit.page.locator(".pin .head").evaluate_all("nodes => nodes.map(node => node.getAttribute('fill'))")
        assert fills[-1] == "url(#hatch)"
        assert fills.count("url(#hatch)") == 1
        assert visit.page.locator(".pin .halo").count() == len(fills)


def test_headings_can_be_linked_to(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["several"]) as visit:
        names = visit.page.evaluate("[...document.querySelectorAll('h2')].map(node => node.id || node.textContent)")
        assert {"run0-safety", "run1-cases"} <= set(names)
        assert len(names) == len(set(names))
        visit.page.goto(f"{reports['several'].as_uri()}#run2-safety")
        assert visit.page.locator("#run2").is_visible()


def test_the_words_are_explained_at_the_top_and_on_paper_at_the_end(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["full"]) as visit:
        above, below = visit.page.locator(".top .words dt"), visit.page.locator("section.words dt")
        assert not above.first.is_visible()
        visit.page.get_by_text("What the words mean").first.click()
        assert above.all_inner_texts() == list(WORDS)
        assert above.first.bounding_box()["y"] < visit.page.locator("h1").bounding_box()["y"]
        assert not below.first.is_visible()
        visit.page.emulate_media(media="print")
        assert (above.first.is_visible(), below.first.is_visible()) == (False, True)
        visit.page.emulate_media(media="screen")
        visit.page.goto("about:blank")
        visit.page.goto(f"{reports['full'].as_uri()}#words")
        assert visit.page.locator(".top .words dt").first.is_visible(), "a link to them opens them"


def test_on_paper_a_film_is_the_moment_of_failing(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["pond"]) as visit:
        posters, videos = visit.page.locator(".shot .poster"), visit.page.locator(".shot video")
        assert [one.is_visible() for one in posters.all()] == [False, True, True]
        assert [one.is_visible() for one in videos.all()] == [True, False, False]
        visit.page.emulate_media(media="print")
        assert [one.is_visible() for one in posters.all()] == [True] * 3
        assert [one.is_visible() for one in videos.all()] == [False] * 3


def test_of_the_films_one_is_open_at_the_size_of_the_game(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["pond"]) as visit:
        shots = visit.page.locator(".shot")
        shots.nth(2).locator("summary").click()
        assert shots.evaluate_all("all => all.map(one => one.open)") == [False, False, True]
        assert shots.nth(2).locator("video").bounding_box()["width"] >= 480
        assert shots.nth(0).bounding_box()["width"] < 300


def with_cases(page: Path, folder: Path, **changes: Any) -> Path:
    """The page, with something else said of every case."""
    before, data, after = re.split(r'(?<=id="data">)(.*?)(?=</script>)', page.read_text(), maxsplit=1, flags=re.S)
    read = json.loads(data)
    for case in read["runs"][0]["cases"]:
        case.update(changes)
    changed = folder / "index.html"
    changed.write_text(before + json.dumps(read).replace("<", "\\u003c") + after)
    return changed


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_long_words_about_a_case_push_nothing_out_of_the_table(
    browser: Any, reports: Any, tmp_path: Path, viewport: dict[str, int]
) -> None:
    long = {"escape": "right+A+B ×5, right+B ×17, " * 3, "why": "At step 75 it chose right+B, and so on. " * 5}
    page = with_cases(reports["full"], tmp_path, blame="avoidable", film="there", **long)
    with Visit(browser, page, viewport=viewport) as visit:
        table = visit.page.locator(".cases.all")
        assert table.evaluate("node => node.scrollWidth - node.clientWidth") <= 0
        assert visit.page.evaluate(WIDE_TEXT) == []


def test_many_executions_are_a_bar_in_which_no_kind_is_lost(browser: Any, reports: Any, tmp_path: Path) -> None:
    """Fifty-nine fails and a pass are not drawn as the pass alone."""
    page = with_cases(reports["grid"], tmp_path, fails=59, passes=1, invalid=0, errors=0)
    with Visit(browser, page) as visit:
        boxes = visit.page.locator(".cases.all .boxes").first.locator("i")
        assert boxes.evaluate_all("all => all.map(one => one.className)") == ["fail", "pass"]
        wide, thin = (box.bounding_box()["width"] for box in boxes.all())
        assert wide > 10 * thin >= 40


def test_two_thousand_cases_are_drawn_in_pieces(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["many"]) as visit:
        table = visit.page.locator("[data-cases]")
        assert table.locator("tbody tr").count() == 50
        assert "the first 50 of 2000" in table.locator("[role=status]").inner_text()
        table.get_by_role("button", name="Show more").click()
        assert table.locator("tbody tr").count() == 250
        assert visit.page.locator(".pin").count() == 100


def test_many_agents_leave_the_map_in_reach(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["sixteen"]) as visit:
        assert visit.page.locator(".pin").first.bounding_box()["y"] < 1.2 * LAPTOP["height"]
        assert visit.page.evaluate("document.documentElement.scrollHeight") < 5200, "sixteen agents are still read"
        ranked = visit.page.locator(".ranking tbody tr")
        assert ranked.count() == 16
        assert "checkpoint 200k" in ranked.first.inner_text(), "who fails most stands first"
        assert visit.page.locator(".verdict:visible").count() == 0
        visit.page.get_by_text("The same in sentences").click()
        assert visit.page.locator(".verdict:visible").count() == 16
        failed = visit.page.locator(".headline .gates .badge:visible").all_inner_texts()
        assert failed == ["failed"] * 2, "what failed stands first"


def test_a_grid_of_agents_leads_to_the_cases_by_mouse_and_by_key(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["sixteen"]) as visit:
        grid, panel = visit.page.locator('[data-chart="run0/situations"] svg.heat'), visit.page.locator(".panel")
        assert grid.locator(".cell").count() == 16 * 4
        grid.locator(".cell").nth(4 * 3 + 1).click()
        assert "Place #2 of 4" in panel.inner_text()
        assert "agent=checkpoint%20400k" in visit.page.url
        visit.page.keyboard.press("Escape")
        grid.focus()
        for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "Enter"):
            visit.page.keyboard.press(key)
        assert "Place #2 of 4" in panel.inner_text()
        assert "agent=checkpoint%20300k" in visit.page.url, "one line up"
        assert visit.complaints == []


def test_a_pair_has_a_line_for_each_place_that_leads_there(browser: Any, reports: dict[str, Path]) -> None:
    with Visit(browser, reports["full"]) as visit:
        pair = visit.page.locator('[data-chart="run0/pair-2"]')
        names = pair.locator("g.row").all_text_contents()
        assert names[0].endswith("newly failing")
        assert pair.locator("line.change").count() == len(names) > 9
        first = pair.locator("g.row a").first
        place = first.text_content()
        first.click()
        visit.page.locator(".panel", has_text=f"Place {place} of 13").wait_for()  # a link is followed in its own time
        assert "agent=right-complex&suite=interval%3A1" in visit.page.url
        pair.get_by_role("button", name="kinds of failure").click()
        assert pair.locator("g.row").count() > 9
        assert visit.complaints == []


def test_pins_do_not_cover_each_other(browser: Any, reports: dict[str, Path]) -> None:
    for name in ("full", "grid", "strip", "one place"):
        with Visit(browser, reports[name]) as visit:
            heads = visit.page.locator(".pin .head").evaluate_all(
                "nodes => nodes.map(node => [Number(node.getAttribute('cx')), Number(node.getAttribute('cy'))])"
            )
            near = [(a, b) for index, a in enumerate(heads) for b in heads[:index] if math.dist(a, b) < PIN]
            assert near == [], name
