"""Writes the report's folder.

::

    index.html  results.json  summary.md  junit.xml  *.csv  videos/
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from markupsafe import Markup

from tightrope.files import write_json, write_whole
from tightrope.progress import Progress, ProgressCallback
from tightrope.report.films.filming import POSTER, choose_shots, film_failures, film_name
from tightrope.report.films.images import data_uri
from tightrope.report.films.players import draw_sheets, scenes
from tightrope.report.results import Results
from tightrope.report.sections import with_sections
from tightrope.report.writers.junit import junit_xml
from tightrope.report.writers.markdown import markdown_summary
from tightrope.report.writers.page import render_page
from tightrope.report.writers.resultfile import results_to_json
from tightrope.report.writers.spreadsheets import write_spreadsheets
from tightrope.settings import ReportConfig
from tightrope.tasks.task import Task

SMALL_VIDEO = 400_000
"""Bytes up to which a film is put into index.html itself; larger ones stay beside it."""
FILMS = {".mp4": "video/mp4", ".webp": "image/webp"}
SHEETS = {".webp": "image/webp", ".png": "image/png"}
KINDS = {**FILMS, **SHEETS}


def write_report(
    results: Results,
    folder: str | os.PathLike[str],
    *,
    tasks: Sequence[Task] = (),
    videos: int = ReportConfig.videos,
    on_progress: ProgressCallback | None = None,
) -> Path:
    """Write the page, its films, tables and data files, and return the path of index.html.

    Args:
        results: What to show: ``report_results`` makes it of runs.
        folder: Where to write; films that are in it already are kept.
        tasks: The tasks of the runs, which films of failures are played on; none: nothing is filmed.
        videos: How many failures to film at most.
        on_progress: Called with a ``Progress`` at each film and at the page.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    results = with_sections(results)
    work = _Work(results, videos if tasks else 0, on_progress)
    made = film_failures(results, tasks, videos, on_film=work.filmed)
    _write_videos(folder / "videos", {**made.content, **draw_sheets(results, tasks, videos, on_sheet=work.filmed)})
    films = _films(results, folder / "videos")
    write_json(folder / "results.json", results_to_json(results, films))
    write_spreadsheets(results, folder, films)
    _write(folder / "junit.xml", junit_xml(results))
    _write(folder / "summary.md", markdown_summary(results))
    index = folder / "index.html"
    _write(index, page_with_films(results, folder, made.notes))
    work.ended()
    return index


class _Work:
    """How far a report has come: films are most of the work, pages and tables are one piece more."""

    def __init__(self, results: Results, videos: int, on_progress: ProgressCallback | None) -> None:
        films = islice(choose_shots(results), videos)
        sheets = islice((scene for run in results.runs for scene in scenes(run)), videos)
        self._total = sum(1 for _ in films) + sum(1 for _ in sheets) + 1
        self._finished = 0
        self._on_progress = on_progress
        self._tell("films" if self._total > 1 else "page and tables")

    def filmed(self) -> None:
        """One film, or one sheet of pictures, more."""
        self._finished = min(self._finished + 1, self._total - 1)
        self._tell("films" if self._finished < self._total - 1 else "page and tables")

    def ended(self) -> None:
        """All is written."""
        self._finished = self._total
        self._tell("")

    def _tell(self, note: str) -> None:
        if self._on_progress is not None:
            self._on_progress(Progress("report", self._finished, self._total, note))


def page_with_films(results: Results, folder: Path, notes: Sequence[str] = (), *, live: Markup | None = None) -> str:
    """The page, with the films that the report's folder holds; ``notes`` and ``live`` as `render_page` takes them."""
    films = _films(results, folder / "videos")
    shown = {**films, **_sheets(results, folder / "videos")}
    addresses, posters = _addresses(shown, folder / "videos"), _posters(films, folder / "videos")
    return render_page(results, addresses, notes, posters, live)


def _write_videos(folder: Path, content: Mapping[str, bytes]) -> None:
    if content:
        folder.mkdir(exist_ok=True)
    for name, film in content.items():
        (folder / name).write_bytes(film)


def _films(results: Results, folder: Path) -> dict[str, str]:
    """The film of each case that has one in the folder: its name without ending → the file's."""
    # Posters have the same names as films, and another ending.
    kept = {path.stem: path.name for path in folder.iterdir() if path.suffix in FILMS} if folder.is_dir() else {}
    cases = (case for run in results.runs for suite in run.suites for case in suite.cases if case.result.fails)
    return {name: kept[name] for name in map(film_name, cases) if name in kept}


def _sheets(results: Results, folder: Path) -> dict[str, str]:
    """The pictures of fails and escapes that are in the folder: the name without ending → the file's."""
    names = {scene.name for run in results.runs for scene in scenes(run)}
    files = [path for path in folder.iterdir() if path.suffix in SHEETS] if folder.is_dir() else []
    return {path.stem: path.name for path in files if path.stem.rpartition(".")[0] in names}


def _addresses(films: Mapping[str, str], folder: Path) -> dict[str, str]:
    addresses = {}
    for name, file in sorted(films.items()):
        path = folder / file
        small = path.stat().st_size <= SMALL_VIDEO
        addresses[name] = data_uri(path.read_bytes(), KINDS[path.suffix]) if small else f"videos/{path.name}"
    return addresses


def _posters(films: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The moment of failing of each film that has one, within the page: print shows nothing else of a film."""
    kept = {name: folder / f"{name}{POSTER}" for name in sorted(films)}
    return {name: data_uri(path.read_bytes(), "image/png") for name, path in kept.items() if path.is_file()}


def _write(path: Path, text: str) -> None:
    write_whole(path, text.encode("utf-8"))
