"""Every Python block of the README and the documentation runs, top to bottom, in one namespace per page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tightrope.report.definitions import WORDS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def blocks(page: Path) -> list[tuple[int, str]]:
    text = page.read_text(encoding="utf-8")
    return [(text[: match.start(1)].count("\n"), match[1]) for match in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agents").symlink_to(ROOT / "agents")
    namespace: dict[str, object] = {"__name__": "page"}
    for line, code in blocks(page):
        # Blank lines in front make a traceback name the line of the page.
        exec(compile("\n" * line + code, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    broken = [target for target in LINK.findall(text) if not (page.parent / target).exists()]
    assert not broken


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page.name for page in sorted((ROOT / "docs").glob("*.md")) if f" {page.name}" not in listed] == []


def test_the_words_of_the_report_open_the_glossary() -> None:
    first = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("## All words")[0]
    assert re.findall(r"^\| \*\*(.+?)\*\* \|", first, re.MULTILINE) == list(WORDS)
