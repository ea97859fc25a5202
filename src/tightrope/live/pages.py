"""What is served: the list of runs, each run as its report would show it now, and its films."""

from __future__ import annotations

import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from tightrope.errors import TightropeError
from tightrope.files.content import require_no_links
from tightrope.guards.faults import misdeed
from tightrope.live.served_runs import ServedRun, ServedRuns
from tightrope.report.headline import Headline, headline
from tightrope.report.results import FINISHED, GOING, Results
from tightrope.report.sections import with_sections
from tightrope.report.writers.page import style, templates
from tightrope.report.writers.writing import KINDS, page_with_films
from tightrope.runs.questions.assembly import report_results
from tightrope.runs.run import Run, open_run

MOST_KEPT = 8
"""Pages that are kept; one of two thousand cases has some megabytes."""
LARGEST_FILM = 256 * 2**20
FILM = re.compile(r"[\w.-]+\.(webp|mp4|png)")


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """One run in the list."""

    place: ServedRun
    task: str = ""
    agents: tuple[str, ...] = ()
    status: str = ""
    headline: Headline | None = None
    trouble: str = ""
    """Why it cannot be shown."""


@dataclass(kw_only=True)
class Pages:
    """Makes pages of run folders, one at a time, and keeps the latest."""

    served: ServedRuns
    _kept: OrderedDict[tuple[str, str], Any] = field(default_factory=OrderedDict)
    _rows: dict[str, tuple[str, RunRow]] = field(default_factory=dict)
    """Of each run the version and what the list says of it."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def index(self) -> str:
        """The list of all runs: what run.json says at once, and the verdicts as they are found."""
        rows = [self._row(place) for place in self.served.known().values()]
        bar = live_bar(self.index_version(), "")
        return _templates().get_template("index.html").render(rows=rows, root=self.served.root, live=bar, css=style())

    def index_version(self) -> str:
        """Changes when a run comes, goes, or has more to show, and when a verdict is found."""
        versions = [(place.id, place.version) for place in self.served.known().values()]
        known = sum(self._rows.get(name, ("", None))[0] == version for name, version in versions)
        return f"{hash(tuple(versions)) & 0xFFFFFFFF:08x}-{known}"

    def run(self, place: ServedRun) -> str:
        """One run as it is now."""
        version = place.version
        with self._lock:
            if (place.id, version) not in self._kept:
                self._kept[place.id, version] = _told(lambda: self._rendered(place, version), place, version)
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            page: str = self._kept[place.id, version]
        return page

    def find_verdicts(self) -> None:
        """Read the runs whose verdict the list does not know yet, one after the other."""
        for place in list(self.served.known().values()):
            version = place.version
            if self._rows.get(place.id, ("",))[0] != version:
                with self._lock:
                    self._rows[place.id] = version, _row(place, read=True)

    def film(self, place: ServedRun, name: str) -> bytes | None:
        """A film from the report of a run; None: there is none of that name."""
        if not FILM.fullmatch(name):
            return None
        try:
            require_no_links(place.path)
            opened = os.open(place.path / "report" / "videos" / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except (OSError, TightropeError):
            return None
        with os.fdopen(opened, "rb") as file:
            found = os.fstat(file.fileno())
            return file.read() if stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST_FILM else None

    def _row(self, place: ServedRun) -> RunRow:
        version = place.version
        known, row = self._rows.get(place.id, ("", None))
        if row is None or known != version:
            row = _row(place, read=False)
            if row.trouble:  # nothing more will be found: the list need not load again for it
                self._rows[place.id] = version, row
        return row

    def _rendered(self, place: ServedRun, version: str) -> str:
        run = open_run(place.path, trust=place.trust)
        results = with_sections(_while_it_goes(place, run, _results(run)))
        self._rows[place.id] = version, _row_of(place, run, results)
        return page_with_films(results, run.report_path.parent, live=live_bar(version, "../../"))


def kind_of(film: str) -> str:
    """The media type of a film."""
    return KINDS[os.path.splitext(film)[1]]


def live_bar(version: str, up: str) -> Markup:
    """What stands above a live page, and keeps it up to date."""
    script = Markup((resources.files("tightrope.live") / "assets" / "live.js").read_text(encoding="utf-8"))
    return Markup(_templates().get_template("bar.html").render(version=version, up=up, script=script))


def _results(run: Run) -> Results:
    return report_results([run], play=False)


def _while_it_goes(place: ServedRun, run: Run, results: Results) -> Results:
    """What is missing from a run that is at work is no reason to worry."""
    if not _is_going(place, run):
        return results
    return replace(results, runs=tuple(replace(each, status=GOING) for each in results.runs))


def _is_going(place: ServedRun, run: Run) -> bool:
    return run.status != FINISHED and place.process is not None


def _told(make: Callable[[], str], place: ServedRun, version: str) -> str:
    """A page, or one that says why there is none; code of a user's task may raise anything."""
    try:
        return make()
    except BaseException as error:
        bar = live_bar(version, "../../")
        text = _trouble(place, error)
        return _templates().get_template("trouble.html").render(place=place, text=text, live=bar, css=style())


def _trouble(place: ServedRun, error: BaseException) -> str:
    if not (place.path / "run.json").exists():
        return "The run begins: its task and its agents are loaded and looked at. This page shows what is found."
    return str(error) if isinstance(error, TightropeError) else f"It cannot be shown: reading it {misdeed(error)}."


def _row(place: ServedRun, *, read: bool) -> RunRow:
    """What the list says of a run: from run.json alone, or with the verdict, for which all its results are read."""
    try:
        run = open_run(place.path, trust=place.trust)
        return _row_of(place, run, _results(run) if read else None)
    except BaseException as error:
        return RunRow(place=place, trouble=_trouble(place, error))


def _row_of(place: ServedRun, run: Run, results: Results | None) -> RunRow:
    return RunRow(
        place=place,
        task=run.task_label,
        agents=tuple(run.agents),
        status="running" if _is_going(place, run) else FINISHED if run.status == FINISHED else "not finished",
        headline=None if results is None else headline(results.runs[0]),
    )


def _templates() -> Environment:
    environment = templates("tightrope.live")
    environment.filters["quoted"] = quote
    return environment
