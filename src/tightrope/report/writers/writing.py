"""Writes the report's folder.

::

    index.html  results.json  summary.md  junit.xml  *.csv  videos/
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tightrope.files import write_whole
from tightrope.report.films.filming import film_failures
from tightrope.report.films.images import data_uri
from tightrope.report.results import Results
from tightrope.report.sections import with_sections
from tightrope.report.writers.junit import junit_xml
from tightrope.report.writers.markdown import markdown_summary
from tightrope.report.writers.page import render_page
from tightrope.report.writers.resultfile import save_results
from tightrope.report.writers.spreadsheets import write_spreadsheets
from tightrope.settings import ReportConfig
from tightrope.tasks.task import Task

SMALL_VIDEO = 400_000
"""Bytes up to which a film is put into index.html itself; larger ones stay beside it."""
KINDS = {".mp4": "video/mp4", ".webp": "image/webp"}


def write_report(
    results: Results, folder: str | os.PathLike[str], *, tasks: Sequence[Task] = (), videos: int = ReportConfig.videos
) -> Path:
    """Write everything and return the path of index.html.

    ``tasks`` are needed to film failures, at most ``videos`` of them; films already in the folder are kept.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    films = film_failures(with_sections(results), tasks, videos)
    results = films.results
    _write_videos(folder / "videos", films.content)
    save_results(results, folder / "results.json")
    write_spreadsheets(results, folder)
    _write(folder / "junit.xml", junit_xml(results))
    _write(folder / "summary.md", markdown_summary(results))
    index = folder / "index.html"
    _write(index, render_page(results, _addresses(results, folder / "videos"), films.notes))
    return index


def _write_videos(folder: Path, content: Mapping[str, bytes]) -> None:
    if content:
        folder.mkdir(exist_ok=True)
    for name, film in content.items():
        (folder / name).write_bytes(film)


def _addresses(results: Results, folder: Path) -> dict[str, str]:
    names = {case.video for run in results.runs for suite in run.suites for case in suite.cases if case.video}
    addresses = {}
    for name in sorted(names):
        path = folder / Path(name).name
        if not path.is_file():
            continue
        small = path.stat().st_size <= SMALL_VIDEO
        addresses[name] = data_uri(path.read_bytes(), KINDS[path.suffix]) if small else f"videos/{path.name}"
    return addresses


def _write(path: Path, text: str) -> None:
    write_whole(path, text.encode("utf-8"))
