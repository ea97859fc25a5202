"""What was measured and when: ``figures.json``, and the page that is made of it."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.measuring import NOT_INSTALLED, Figure

FIGURES = Path(__file__).with_name("figures.json")

TITLES = {
    1: "Against the naive way: one environment, replay from reset, one agent query per step",
    2: "The whole pipeline of the paper for one agent on Super Mario Bros. 1-1",
    3: "Efficiency: the bare environment's share of the time",
    4: "Two processes against one",
    5: "Growth",
    6: "Peers",
    7: "Traffic, and what it comes to on a large cluster",
    8: "Training that begins in situations: what a reset costs",
    9: "Worlds and agents in JAX",
    10: "Failures found: distinct avoidable ones for a thousand steps, everything counted",
    11: "Risk in use: intervals that hold, and their cost",
    12: "Box2D, which cannot be saved: coming back by replay and by forks",
}

PREFACE = """# Benchmarks

`make bench` runs them all in 20 to 40 minutes on two cores that do nothing else, writes this page item by item, and
ends by naming every figure that is worse than the one that stood here, beyond its noise. `python -m benchmarks.run
--only 1 --quick` runs one of them in small.

Every ratio is between two measurements of the same run. Times of one process are processor time; those of several are
wall time, and mean something only on an otherwise idle machine. Item 2 also tells the processor time of all processes,
which other work on the machine changes less.

The naive way (`tightrope.execution.naive`) is also the definition of every rollout: the engine's episodes are compared
with its episodes in the same run. It is measured on a sample of the rollouts and scaled by steps.

Each item says when and where it was measured; figures of different items may come from different machines of the same
kind, and are not to be compared with each other.

Items 10 and 11 count failures and intervals, for which many hunts and estimates are needed: `make bench` makes a few of
them to compare with the figures here, which come from `python -m benchmarks.run --long` (hours). Of item 1, a second
seed and a variant of fuzzing are measured with `--long` alone.

What a search costs is in `python benchmarks/bench_search.py`, how far more cores go in `python -m benchmarks.scaling`.
"""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The figures of an item, and when and where they were measured."""

    when: str
    figures: Sequence[Figure]
    older: Mapping[str, str]
    """By the names of figures that were measured at another time or place: when and where."""


def stored() -> dict[int, Measured]:
    """Everything that is written down, by item."""
    if not FIGURES.exists():
        return {}
    content = json.loads(FIGURES.read_text(encoding="utf-8"))
    return {int(item): _read(values) for item, values in content.items()}


def _read(values: Mapping[str, Any]) -> Measured:
    figures = [Figure(**figure) for figure in values["figures"]]
    return Measured(when=values["measured"], figures=figures, older=values.get("older", {}))


def write_down(item: int, figures: Sequence[Figure], *, whole: bool = True) -> None:
    """Make these the figures of an item, in both files; unless they are the ``whole`` item, others of it stay.

    What could not be measured for want of a library is then left out: an earlier figure says more.
    """
    figures = [figure for figure in figures if whole or figure.note != NOT_INSTALLED]
    known, new = stored(), {figure.name: figure for figure in figures}
    old = known.get(item)
    stood = [] if old is None or whole else old.figures
    older = {each.name: old.older.get(each.name, old.when) for each in stood if each.name not in new} if old else {}
    # In the order of the page: what was measured again stays where it stood.
    known[item] = Measured(
        when=_where_and_when(), figures=[*({each.name: each for each in stood} | new).values()], older=older
    )
    content = {str(number): _written(known[number]) for number in sorted(known)}
    FIGURES.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    FIGURES.with_name("README.md").write_text(_page(known), encoding="utf-8")


def _written(item: Measured) -> dict[str, Any]:
    figures = [
        {
            name: value
            for name, value in asdict(figure).items()
            if value not in (None, "") or name not in ("low", "high", "direction")
        }
        for figure in item.figures
    ]
    known = {"measured": item.when, "figures": figures}
    return known | ({"older": dict(item.older)} if item.older else {})


def _where_and_when() -> str:
    cores, system = os.cpu_count(), f"{platform.system()} {platform.machine()}"
    busy = os.getloadavg()[1]
    # Other work than the benchmark's own, which takes two cores at most.
    beside = f", beside other work (load {busy:.0f})" if busy > 1.5 * (cores or 1) else ""
    return f"{date.today():%Y-%m}, {cores} cores, {system}, Python {platform.python_version()}{beside}"


def _page(known: Mapping[int, Measured]) -> str:
    parts = [PREFACE]
    for number, title in TITLES.items():
        parts.append(f"## {number}. {title}\n")
        item = known.get(number)
        if item is not None:
            parts.append(f"Measured: {item.when}.\n")
            parts += ["| what | figure | aim | met | details |", "|---|---|---|---|---|"]
            parts += [_row(figure, item.older.get(figure.name)) for figure in item.figures] + [""]
        else:
            parts.append("no data\n")
    return "\n".join(parts)


def _row(figure: Figure, older: str | None) -> str:
    met = {None: "", True: "yes", False: "**no**"}[figure.met]
    note = "; ".join(filter(None, (figure.note, "" if older is None else f"measured: {older}")))
    return f"| {figure.name} | {figure.shown} | {figure.aim} | {met} | {note} |"
