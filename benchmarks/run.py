"""All benchmarks, as ratios against a baseline measured in the same run.

    python -m benchmarks.run [--only 1 3] [--quick] [--out benchmarks/README.md]

Figures are only comparable when nothing else runs on the machine. ``--quick`` uses small workloads: it shows that the
benchmarks work, and its figures are not written anywhere.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import against_naive, cluster, efficiency, peers, pipeline
from benchmarks.measuring import Figure

ITEMS: dict[int, tuple[str, Callable[..., Iterator[Figure]]]] = {
    1: ("Against the naive way: one environment, replay from reset, one agent query per step", against_naive.figures),
    2: ("The whole pipeline of the paper for one agent on Super Mario Bros. 1-1", pipeline.figures),
    3: ("Efficiency: the bare environment's share of the time", efficiency.efficiency),
    4: ("Two processes against one", efficiency.two_processes),
    5: ("Growth", efficiency.growth),
    6: ("Peers", peers.figures),
    7: ("Traffic, and what it comes to on a large cluster", cluster.figures),
}

PREFACE = """# Benchmarks

`make bench` runs them all and writes this page; `python -m benchmarks.run --only 1 --quick` runs one of them in small.
Every ratio is between two measurements of the same run. Times of one process are processor time; those of several are
wall time, and mean something only on an otherwise idle machine.

The naive way (`tightrope.execution.naive`) is also the definition of every rollout: the engine's episodes are compared
with its episodes in the same run. It is measured on a sample of the rollouts and scaled by steps.

What a search costs is in `python benchmarks/bench_search.py`.
"""


def main() -> None:
    """Run the chosen items, print their figures, and write the page when all were run in full."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", type=int, choices=sorted(ITEMS), default=sorted(ITEMS))
    parser.add_argument("--quick", action="store_true", help="small workloads; writes nothing")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("README.md"))
    options = parser.parse_args()
    found: dict[int, list[Figure]] = {}
    for item in options.only:
        title, figures = ITEMS[item]
        print(f"\n{title}", flush=True)
        for figure in figures(quick=options.quick):
            print(figure, flush=True)
            found.setdefault(item, []).append(figure)
    if not options.quick and sorted(found) == sorted(ITEMS):
        options.out.write_text(_page(found), encoding="utf-8")
        print(f"\nwritten to {options.out}")


def _page(found: dict[int, list[Figure]]) -> str:
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    parts = [PREFACE, f"The last figures: {machine}.\n"]
    for item, figures in found.items():
        parts.append(f"## {item}. {ITEMS[item][0]}\n\n| what | figure | aim | met | details |\n|---|---|---|---|---|")
        parts += [_row(figure) for figure in figures]
        parts.append("")
    return "\n".join(parts)


def _row(figure: Figure) -> str:
    value = "no data" if figure.value is None else f"{figure.value:.3g} {figure.unit}".strip()
    met = {None: "", True: "yes", False: "**no**"}[figure.met]
    return f"| {figure.name} | {value} | {figure.aim} | {met} | {figure.note} |"


if __name__ == "__main__":
    main()
