"""All benchmarks, as ratios against a baseline measured in the same run.

    python -m benchmarks.run [--only 1 3] [--quick]

The figures of the items run go to ``figures.json`` and ``README.md`` beside this file; those of the others stay as they
were. Wall times mean something only when nothing else runs on the machine. ``--quick`` uses small workloads: it shows
that the benchmarks work, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks import against_naive, box2d, cluster, efficiency, failures, peers, pipeline, resetting, risk, rows
from benchmarks.measuring import Figure

FIGURES = Path(__file__).with_name("figures.json")

ITEMS: dict[int, tuple[str, Callable[..., Iterator[Figure]]]] = {
    1: ("Against the naive way: one environment, replay from reset, one agent query per step", against_naive.figures),
    2: ("The whole pipeline of the paper for one agent on Super Mario Bros. 1-1", pipeline.figures),
    3: ("Efficiency: the bare environment's share of the time", efficiency.efficiency),
    4: ("Two processes against one", efficiency.two_processes),
    5: ("Growth", efficiency.growth),
    6: ("Peers", peers.figures),
    7: ("Traffic, and what it comes to on a large cluster", cluster.figures),
    8: ("Training that begins in situations: what a reset costs", resetting.figures),
    9: ("Worlds and agents in JAX", rows.figures),
    10: ("Failures found: distinct avoidable ones for a thousand steps, everything counted", failures.figures),
    11: ("Risk in use: intervals that hold, and their cost", risk.figures),
    12: ("Box2D, which cannot be saved: coming back by replay and by forks", box2d.figures),
}

PREFACE = """# Benchmarks

`make bench` runs them all and writes this page; `python -m benchmarks.run --only 1 --quick` runs one of them in small.
Every ratio is between two measurements of the same run. Times of one process are processor time; those of several are
wall time, and mean something only on an otherwise idle machine.

The naive way (`tightrope.execution.naive`) is also the definition of every rollout: the engine's episodes are compared
with its episodes in the same run. It is measured on a sample of the rollouts and scaled by steps.

Each item says when and where it was measured; figures of different items may come from different machines of the same
kind, and are not to be compared with each other.

What a search costs is in `python benchmarks/bench_search.py`.
"""


def main() -> None:
    """Run the chosen items, print their figures, and write them down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", type=int, choices=sorted(ITEMS), default=sorted(ITEMS))
    parser.add_argument("--quick", action="store_true", help="small workloads; writes nothing")
    options = parser.parse_args()
    for item in options.only:
        title, measure = ITEMS[item]
        print(f"\n{title}", flush=True)
        figures = []
        for figure in measure(quick=options.quick):
            print(figure, flush=True)
            figures.append(figure)
        if not options.quick:
            write_down(item, figures)


def write_down(item: int, figures: list[Figure]) -> None:
    """Make these the figures of an item, in both files."""
    stored = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    stored[str(item)] = {"measured": _where_and_when(), "figures": [asdict(figure) for figure in figures]}
    ordered = {number: stored[number] for number in sorted(stored, key=int)}
    FIGURES.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    FIGURES.with_name("README.md").write_text(_page(ordered), encoding="utf-8")


def _where_and_when() -> str:
    cores, system = os.cpu_count(), f"{platform.system()} {platform.machine()}"
    busy = os.getloadavg()[1]
    # Other work than the benchmark's own, which takes two cores at most.
    beside = f", beside other work (load {busy:.0f})" if busy > 1.5 * (cores or 1) else ""
    return f"{date.today():%Y-%m}, {cores} cores, {system}, Python {platform.python_version()}{beside}"


def _page(stored: dict[str, dict[str, Any]]) -> str:
    parts = [PREFACE]
    for item, (title, _) in ITEMS.items():
        parts.append(f"## {item}. {title}\n")
        known = stored.get(str(item))
        if known is not None:
            figures = [Figure(**values) for values in known["figures"]]
            parts.append(f"Measured: {known['measured']}.\n")
            parts += ["| what | figure | aim | met | details |", "|---|---|---|---|---|", *map(_row, figures), ""]
        else:
            parts.append("no data\n")
    return "\n".join(parts)


def _row(figure: Figure) -> str:
    value = "no data" if figure.value is None else f"{figure.value:.3g} {figure.unit}".strip()
    met = {None: "", True: "yes", False: "**no**"}[figure.met]
    return f"| {figure.name} | {value} | {figure.aim} | {met} | {figure.note} |"


if __name__ == "__main__":
    main()
