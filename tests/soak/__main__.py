"""``make soak``: the same campaign twice, once in peace and once disturbed all the time.

Both must find the same, every message must be a clear one, nobody may be left behind, and memory must be flat.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from tests.runs.test_campaign import findings
from tests.soak.command import Command, Memory, Unclear
from tests.soak.disk import MIB, SmallDisk, begin_again_where_disks_can_be_made
from tests.soak.faults import PASSED, Disturbed
from tightrope.runs.storage.store import EpisodeStore

SIZES_A_MINUTE = 1.0
"""How much of a campaign a minute of both runs together is good for."""
MOST_GROWTH_OF_WORKERS, MOST_BESIDE_IN_WORKERS = 1.1, 32 * MIB
"""The memory of the workers in the last third of the time against that in the middle one: the last steps keep longer
ways than the first ones, within the limit of the engine, which the soak does not come near."""
MOST_BYTES_AN_EPISODE, MOST_BYTES_BESIDE = 12_000, 32 * MIB
"""By which the command itself may grow: results hold their episodes, with the action and the reward of every step; the
rest is what its last steps import."""


def campaign(size: float) -> dict[str, Any]:
    """All steps, with randomness in the task and in an agent, so that no execution can stand for another."""

    def share(number: int) -> int:
        return max(2, round(number * size))

    return {
        "task": "tests.soak.world:lake",
        "agents": [
            {"source": "tests.sample_agents:zigzag", "name": "zigzag"},
            {"source": "tests.sample_agents:careful", "name": "careful", "epsilon": 0.2},
        ],
        "plain": {"episodes": share(100)},
        "search": {"probe_steps": 300 + share(500)},
        "safety": {"suites": ["simple", "interval:1"], "repetitions": share(30), "length": 20},
        "fuzzing": {"generations": share(6), "population": 12},
        "performance": {"tests": 6, "episodes": share(6), "step_width": 4},
        "execution": {"backend": "processes", "workers": 2 if size >= 1 else 1},
        "report": {"videos": 0},
    }


def undisturbed(settings: Path, folder: Path, said: Path) -> list[Memory]:
    """Run in peace; returns the memory in use, moment by moment."""
    command, seen = Command(settings, folder, said), []
    while command.runs:
        seen.append(command.memory())
        command.wait(0.5)
    command.require_end(PASSED)
    return seen


def is_flat(seen: list[Memory], episodes: int) -> tuple[bool, str]:
    """Whether memory did not grow, beyond what results hold; and that in words."""
    third = max(1, len(seen) // 3)
    middle, last = seen[third : 2 * third], seen[2 * third :]
    workers = [statistics.median(sorted(part.workers for part in parts)[-third // 2 :]) for parts in (middle, last)]
    begun, ended = max(part.command for part in seen[:third]), max(part.command for part in last)
    each = max(0, ended - begun) / max(1, episodes)
    allowed = MOST_BYTES_AN_EPISODE * episodes + MOST_BYTES_BESIDE
    more = max(0.0, workers[1] - MOST_GROWTH_OF_WORKERS * workers[0])
    flat = more <= MOST_BESIDE_IN_WORKERS and ended - begun <= allowed
    return flat, (
        f"workers {workers[0] / MIB:.0f} MiB in the middle third, {workers[1] / MIB:.0f} in the last; the command "
        f"{begun / MIB:.0f} MiB in the first, {ended / MIB:.0f} in the last, {each / 1000:.1f} KB for each of "
        f"{episodes:,} episodes"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="A long campaign, once in peace and once disturbed.")
    parser.add_argument("--minutes", type=float, default=60.0, help="about how long both runs take together")
    parser.add_argument("--faults", type=int, default=sys.maxsize, help="at most so many")
    parser.add_argument("--seed", type=int, default=None, help="which faults happen when; default: the time")
    given = parser.parse_args()
    begin_again_where_disks_can_be_made()
    seed = int(time.time()) if given.seed is None else given.seed
    with TemporaryDirectory() as place:
        try:
            return soak(Path(place), given.minutes, given.faults, seed)
        except Unclear as error:
            print(f"soak, seed {seed}: {error}")
            return 1


def soak(place: Path, minutes: float, faults: int, seed: int) -> int:
    """Both runs, and how they compare; returns an exit code."""
    settings, said, peace = place / "campaign.yaml", place / "said", place / "peace"
    settings.write_text(json.dumps(campaign(minutes * SIZES_A_MINUTE)))
    begun = time.monotonic()
    memory = undisturbed(settings, peace, said)
    alone = time.monotonic() - begun
    print(f"undisturbed: {alone:.0f} s", flush=True)
    disk = SmallDisk(place / "disk", 64 * MIB + 8 * (peace / "episodes.sqlite").stat().st_size)
    run = Disturbed(settings=settings, disk=disk, said=said, rng=Random(seed), pause=max(4.0, alone / 15), most=faults)
    try:
        run.until_it_ends()
        same = findings(peace) == findings(run.folder)
    finally:
        disk.close()
    flat, in_words = is_flat(memory, len(EpisodeStore(peace / "episodes.sqlite", read_only=True)))
    struck = ", ".join(f"{count} × {name}" for name, count in sorted(run.counts.items()))
    print(
        f"disturbed: {time.monotonic() - begun - alone:.0f} s, seed {seed}: {struck or 'nothing happened'}"
        f"{'' if disk.is_small else ' (no small disk can be made here, so none was full)'}\n"
        f"results: {'the same' if same else 'THEY DIFFER'}\nmemory {'flat' if flat else 'GROWS'}: {in_words}\n"
        f"load of the machine: {os.getloadavg()[2]:.1f} on {os.cpu_count()} cores"
    )
    return 0 if same and flat and run.counts else 1


if __name__ == "__main__":
    sys.exit(main())
