"""One browser and one set of reports for all tests that look at pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.report.browsing import BROWSER, NO_BROWSER, QUIET, Reports


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if BROWSER is None:
        pytest.skip(NO_BROWSER)
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install 'tightrope[dev]' for playwright")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=list(QUIET))
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return Reports(tmp_path_factory.mktemp("reports"))
