"""The documentation site can be built without a network, and all its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tightrope

ROOT = Path(__file__).parent.parent
pytest.importorskip("mkdocs", reason="the site is built with mkdocs")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_the_gallery_and_every_public_name_are_on_the_site(site: Path) -> None:
    assert {path.name for path in (site / "gallery").iterdir()} == {
        path.name for path in (ROOT / "docs" / "gallery").iterdir()
    }
    reference = (site / "api.html").read_text(encoding="utf-8")
    described = set(re.findall(r'id="tightrope\.[\w.]+\.(\w+)"', reference))
    assert set(tightrope.__all__) <= described


def test_the_site_asks_the_network_for_nothing(site: Path) -> None:
    loads = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?https?://")
    assert not [path for path in site.rglob("*.html") if loads.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("report", sorted((ROOT / "docs/gallery").glob("*.html")), ids=lambda path: path.stem)
def test_the_commands_of_the_gallery_are_those_of_a_checkout(report: Path) -> None:
    page = report.read_text(encoding="utf-8")
    folders = set(re.findall(r"tightrope (?:replay|explain) (\S+) ", page))
    assert folders <= {f"runs/gallery/{report.stem}"}, "a folder of whoever made it leads nowhere"
    assert f"tightrope run examples/gallery/{report.stem}.yaml" in page
