"""``python -m tests.filefuzz``: damage files for as long as is wanted, and keep those that are read badly."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.filefuzz.kinds import all_kinds
from tests.filefuzz.trying import Fuzzer, keep

MEMORY = Path("/dev/shm")
"""Where files are written fastest, if it is there."""
OFTEN = 5_000
"""Files between two lines that say how far it is."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Damage files of every kind and read them.")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="at most so many")
    parser.add_argument("--seed", type=int, default=None, help="default: the time, so that every call tries others")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case: to see one again")
    parser.add_argument("--kind", default="", help="only kinds whose names contain this")
    parser.add_argument("--keep", type=Path, default=Path("runs/fuzz"), help="where files that are read badly are kept")
    given = parser.parse_args()
    seed = int(time.time()) if given.seed is None else given.seed
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        kinds = [kind for kind in all_kinds(Path(folder)) if given.kind in kind.name]
        fuzzer, end = Fuzzer(kinds, seed), time.monotonic() + 60 * given.minutes
        found: Counter[str] = Counter()
        for case in range(given.first, given.first + given.cases):
            finding = fuzzer.try_case(case)
            if finding is not None:
                place = finding.where.strip().rpartition("File")[2].partition("\n")[0]
                found[f"{finding.kind}: {finding.told:.80} {place}"] += 1
                if found[f"{finding.kind}: {finding.told:.80} {place}"] == 1:
                    print(
                        f"{finding}kept in {keep(finding, given.keep)}; again with --kind={given.kind!r} "
                        f"--seed {seed} --first {case} --cases 1",
                        flush=True,
                    )
            if (case + 1) % OFTEN == 0:
                print(f"case {case + 1:,}: {sum(found.values()):,} read badly so far", flush=True)
            if time.monotonic() > end:
                break
    total = sum(fuzzer.counts.values())
    print(
        f"{total:,} damaged files of {len(fuzzer.counts)} kinds (seed {seed}): {fuzzer.refused:,} refused by name, "
        f"{total - fuzzer.refused - sum(found.values()):,} read, {sum(found.values()):,} read badly"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
