"""Runs of every shape look as they did: what is on the page, and how its pictures are coloured."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.report.browsing import LAPTOP, Reports, Visit

LOOKS = Path(__file__).parent / "looks.json"
"""How each shape looked when somebody last looked at it. Delete an entry to have it written anew, then look at it."""
SHAPES = {
    "sixteen": ('[data-chart="run0/situations"] svg[role=group]', '[data-chart="run0/kinds"] svg[role=group]'),
    "grid": (".map svg[role=group]", '[data-chart="run0/places"] svg[role=group]'),
    "one place": (".map svg[role=group]",),
    "many": (".map svg[role=group]", '[data-chart="run0/places"] svg[role=group]'),
    "no failure": (".map svg[role=group]", '[data-chart="run0/places"] svg[role=group]'),
    "empty": (),
    "full": (".map svg[role=group]", '[data-chart="run0/pair-1"] svg[role=group]'),
}
ACROSS, DOWN = 16, 8
"""Patches of a picture whose mean colours are compared: too coarse for letters to matter."""
NEAR = 9.0
"""Mean difference of the colours, of 255, that other fonts and another smoothing of edges may make."""
CONTENT = """() => {
    const count = selector => [...document.querySelectorAll(selector)].filter(node => node.checkVisibility()).length;
    return {
        headings: [...document.querySelectorAll("main h2")].filter(node => node.checkVisibility()).map(node => node.firstChild.textContent.trim()),
        charts: [...document.querySelectorAll("[data-chart]")].filter(node => node.checkVisibility()).map(node => `${node.dataset.chart}: ${node.querySelectorAll(".mark").length}`),
        pins: count(".pin"), rows: count(".cases.all tbody tr"), ranked: count(".ranking tbody tr"), verdicts: count(".verdict"), gates: count(".gates li"),
    };
}"""  # noqa: E501


def patches(png: bytes) -> np.ndarray:
    """The mean colours of a picture in a coarse grid."""
    small = Image.open(io.BytesIO(png)).convert("RGB").resize((ACROSS, DOWN), Image.Resampling.BOX)
    return np.asarray(small, dtype=float)


def stored(text: str) -> np.ndarray:
    return np.frombuffer(bytes.fromhex(text), np.uint8).reshape(DOWN, ACROSS, 3).astype(float)


def known(name: str) -> dict[str, Any]:
    return json.loads(LOOKS.read_text()).get(name, {}) if LOOKS.exists() else {}


def remember(name: str, look: dict[str, Any]) -> None:
    every = json.loads(LOOKS.read_text()) if LOOKS.exists() else {}
    LOOKS.write_text(
        json.dumps({**every, name: look}, sort_keys=True, separators=(",", ":")).replace("},", "},\n") + "\n"
    )
    pytest.fail(f"{name} was looked at for the first time: look at it yourself, then run again")


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_looks_as_it_did(browser: Any, reports: Reports, name: str) -> None:
    with Visit(browser, reports[name], device_scale_factor=1, reduced_motion="reduce") as visit:
        pictures = [patches(visit.page.locator(selector).first.screenshot()) for selector in SHAPES[name]]
        look = {
            "content": visit.page.evaluate(CONTENT),
            "pictures": [part.round().astype(np.uint8).tobytes().hex() for part in pictures],
        }
        before = known(name) or remember(name, look)
        assert look["content"] == before["content"]
        for picture, other, selector in zip(pictures, before["pictures"], SHAPES[name], strict=True):
            assert np.abs(picture - stored(other)).mean() < NEAR, selector


def test_the_comparison_of_looks_sees_what_a_person_would_see(browser: Any, reports: Reports) -> None:
    """Another agent's colours on the map, and a grid upside down, are not near."""
    with Visit(browser, reports["full"], device_scale_factor=1) as visit:
        grid = visit.page.locator('[data-chart="run0/pair-1"] svg[role=group]').first
        before = patches(grid.screenshot())
        visit.page.locator('[data-chart="run0/pair-1"] .keys button').last.click()
        assert np.abs(patches(grid.screenshot()) - before).mean() > 0.5, "one agent's marks are gone"
    sixteen = stored(known("sixteen")["pictures"][0])
    assert np.abs(sixteen - sixteen[::-1]).mean() > NEAR
    assert np.abs(sixteen - 255).mean() > NEAR, "a grid that was not drawn"


def spent(browser: Any, page: Path) -> float:
    """Seconds of processor time that a page takes until it is ready, whatever else the machine does."""
    context = browser.new_context(viewport=LAPTOP)
    tab = context.new_page()
    session = context.new_cdp_session(tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto(page.as_uri())
    tab.wait_for_selector("html[data-ready]")
    found = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    context.close()
    return sum(found[name] for name in ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration"))


def test_two_thousand_cases_are_there_within_a_second(browser: Any, reports: Reports) -> None:
    """Of processor time, not of the clock: other work on the machine does not count."""
    assert min(spent(browser, reports["many"]) for _ in range(2)) < 1.0


def test_a_link_is_copied_and_the_copy_leads_to_the_same_place(browser: Any, reports: Reports) -> None:
    with Visit(browser, reports["full"]) as visit:
        visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
        visit.page.evaluate(
            "window.taken = null; navigator.clipboard.writeText = async text => { window.taken = text; }"
        )
        visit.page.locator(".pin").nth(6).click()
        visit.page.locator(".panel").get_by_role("button", name="copy link").click()
        visit.page.wait_for_function("window.taken !== null")
        taken = visit.page.evaluate("window.taken")
        assert taken.endswith("#agent=right-complex&suite=interval%3A1&place=7")
        visit.page.get_by_role("button", name="copied").wait_for()
    with Visit(browser, reports["full"]) as visit:
        visit.page.goto(taken)
        assert "Place #7 of 13" in visit.page.locator(".panel").inner_text()
        visit.page.reload()
        visit.page.wait_for_selector("html[data-ready]")
        assert "Place #7 of 13" in visit.page.locator(".panel").inner_text()
        visit.page.keyboard.press("Escape")
        assert visit.page.locator(".panel").is_hidden()
