"""All benchmarks, as ratios against a baseline measured in the same run.

    python -m benchmarks.run [--only 1 3] [--long] [--quick]

The figures of each item go to ``figures.json`` and ``README.md`` beside this file as soon as it is done; those of the
others stay as they were. Ctrl-C keeps what is finished. At the end every figure is set beside the one that was there
before, and those that are worse beyond their noise are named.

Wall times mean something only when nothing else runs on the machine. ``--long`` takes as many seeds and repetitions as
the page has (hours); without it items 10 and 11 are measured in small, compared, and not written down. ``--quick`` uses
tiny workloads: it shows that the benchmarks work, and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection

from benchmarks import against_naive, box2d, cluster, efficiency, failures, peers, pipeline, resetting, risk, rows
from benchmarks.comparing import compared, judgement
from benchmarks.measuring import Figure, wall
from benchmarks.records import TITLES, stored, write_down

ITEMS: dict[int, Callable[..., Iterator[Figure]]] = {
    1: against_naive.figures,
    2: pipeline.figures,
    3: efficiency.efficiency,
    4: efficiency.two_processes,
    5: efficiency.growth,
    6: peers.figures,
    7: cluster.figures,
    8: resetting.figures,
    9: rows.figures,
    10: failures.figures,
    11: risk.figures,
    12: box2d.figures,
}
SHORTENED = {1, 10, 11}
"""What ``long`` makes longer."""
COMPARED_ONLY = {10, 11}
"""Of these, a short run has too few seeds to stand in place of a long one."""
SECONDS_TO_END = 20.0
"""For a process to stop its workers after its last figure, or after Ctrl-C, which it gets too."""


def main() -> None:
    """Run the chosen items, print their figures, write them down, and set them beside those of before."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", type=int, choices=sorted(ITEMS), default=sorted(ITEMS))
    parser.add_argument("--long", action="store_true", help="as many seeds and repetitions as the page has: hours")
    parser.add_argument("--quick", action="store_true", help="tiny workloads; writes nothing")
    options = parser.parse_args()
    before = {figure.name: figure for item in stored().values() for figure in item.figures}
    found: list[Figure] = []
    broken: list[int] = []
    try:
        for place, item in enumerate(options.only):
            print(f"\n[{place + 1} of {len(options.only)}] {item}. {TITLES[item]}", flush=True)
            began = wall()
            if not run_item(item, found, quick=options.quick, long=options.long):
                broken.append(item)
            print(f"took {_minutes(wall() - began)}", flush=True)
    except KeyboardInterrupt:
        print("\nstopped; what was measured before is written down", flush=True)
        sys.exit(130)
    finally:
        if found and not options.quick:
            summarise(before, found)
    if broken:
        sys.exit(f"items that ended in an error: {', '.join(map(str, broken))}")


def run_item(item: int, found: list[Figure], *, quick: bool, long: bool) -> bool:
    """Measure one item and add its figures to those found; whether it came to its end.

    What was measured of it is written down even where it is broken off.
    """
    figures: list[Figure] = []
    finished = False
    try:
        for figure in measured(item, quick=quick, long=long):
            print(figure, flush=True)
            figures.append(figure)
        finished = True
    except EOFError:
        print("it ended in an error", flush=True)
    finally:
        found += figures
        if figures and not quick and (long or item not in COMPARED_ONLY):
            write_down(item, figures, whole=finished and long)
    return finished


def measured(item: int, *, quick: bool, long: bool) -> Iterator[Figure]:
    """The figures of an item, by a process of its own: memory and caches of one must not count for another.

    EOFError where that process ends before its item does.
    """
    context = get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_send_figures, args=(item, quick, long, there))
    process.start()
    there.close()
    try:
        while (figure := here.recv()) is not None:
            yield figure
    finally:
        process.join(SECONDS_TO_END)
        process.terminate()


def _send_figures(item: int, quick: bool, long: bool, there: Connection) -> None:
    with suppress(KeyboardInterrupt):
        for figure in ITEMS[item](quick=quick, **({"long": long} if item in SHORTENED else {})):
            there.send(figure)
        there.send(None)


def summarise(before: dict[str, Figure], found: Sequence[Figure]) -> None:
    """The table of before and now, and the names of what is worse."""
    print("\nfigure, before, now", *compared(before, found), sep="\n", flush=True)
    worse = [each for each in found if each.name in before and judgement(before[each.name], each) == "WORSE"]
    lost = [each for each in found if each.met is False and each.name in before and before[each.name].met]
    for title, which in (("worse than before, beyond noise", worse), ("aims that were met and are not", lost)):
        print(f"\n{title}: {len(which)}", *(f"  {each.item}. {each.name}" for each in which), sep="\n", flush=True)


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} minutes"


if __name__ == "__main__":
    main()
