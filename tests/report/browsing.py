"""Reports of many shapes, and a real browser to look at them with."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.report.synthetic import (
    broken_run,
    compared_runs,
    empty_run,
    full_results,
    grid_run,
    many_cases,
    no_failure,
    one_place,
    several_results,
    sixteen_agents,
    strip_run,
)
from tests.report.test_writing import pond_results
from tests.report.worlds import pond_task
from tightrope.report import Results, write_report

BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None)
NO_BROWSER = "no Chromium: install it (Debian, Ubuntu: apt-get install chromium) to run the browser tests"
AUDIT = (Path(__file__).parent / "audit.js").read_text()
LAPTOP, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 780}
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip
MADE = {
    "full": full_results,
    "several": several_results,
    "compared": compared_runs,
    "grid": lambda: Results(title="grid", runs=(grid_run(),)),
    "broken": lambda: Results(title="broken", runs=(broken_run(),)),
    "strip": lambda: Results(title="strip", runs=(strip_run(),)),
    "empty": lambda: Results(title="empty", runs=(empty_run(),)),
    "pond": lambda: pond_results(pond_task()),
    "sixteen": lambda: Results(title="sixteen", runs=(sixteen_agents(),)),
    "one place": lambda: Results(title="one place", runs=(one_place(),)),
    "many": lambda: Results(title="many", runs=(many_cases(),)),
    "no failure": lambda: Results(title="no failure", runs=(no_failure(),)),
}


def axe(page: Any) -> list[str]:
    """What axe-core finds on a page as it stands: every rule it has, and where each is broken."""
    runner = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install 'tightrope[dev]' for axe")
    found = runner.Axe().run(page).response["violations"]
    return [f"{rule['id']}: {node['html'][:120]}" for rule in found for node in rule["nodes"]]


class Reports(dict[str, Path]):
    """Reports by name, each written when somebody first asks for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __missing__(self, name: str) -> Path:
        self[name] = write_report(MADE[name](), self.folder / name, tasks=[pond_task()], videos=3)
        return self[name]


class Visit:
    """An open page that remembers what went wrong."""

    def __init__(self, browser: Any, path: Path, **context: Any) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.context = browser.new_context(**{"viewport": LAPTOP, **context})
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *error: object) -> None:
        self.context.close()
