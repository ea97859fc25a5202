"""``make soak``: a long campaign that is disturbed all the time must find what an undisturbed one finds.

The same campaign runs twice, as commands with worker processes: once in peace, once with workers and the whole command
killed, interrupted, and with no room left to write. A disturbed command is given again until it ends by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MIB = 1024**2
UNCLEAR = "fault of tightrope"
MOST_GROWTH = 1.5
"""Memory in the last third of the undisturbed run against that in the middle one."""
ROOM = 20_000
"""Bytes by which the largest file may still grow when the disk is nearly full."""


def campaign(size: float) -> dict[str, Any]:
    """All steps, with randomness in the task and in an agent, so that executions cannot stand for each other.

    A ``size`` of 1 takes a core about half a minute.
    """
    return {
        "task": "FrozenLake-v1",
        "options": {"is_slippery": True},
        "agents": [
            {"source": "tests.sample_agents:zigzag", "name": "zigzag"},
            {"source": "tests.sample_agents:careful", "name": "careful", "epsilon": 0.2},
        ],
        "plain": {"episodes": max(2, round(400 * size))},
        "search": {"probe_steps": max(500, round(5000 * size))},
        "safety": {"suites": ["simple", "interval:1"], "repetitions": max(2, round(100 * size)), "length": 20},
        "fuzzing": {"generations": max(2, round(20 * size)), "population": 20},
        "performance": {"tests": 10, "episodes": max(2, round(10 * size)), "step_width": 4},
        "execution": {"backend": "processes", "workers": 2},
        "report": {"videos": 0},
    }


class Command:
    """``tightrope run`` on a folder, while it runs."""

    def __init__(self, settings: Path, folder: Path, *, largest_file: int | None = None) -> None:
        def limit() -> None:
            if largest_file is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

        self.said = folder.with_suffix(".log")
        with self.said.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tightrope", "run", str(settings), "--out", str(folder), "--quiet"],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
                stderr=log,
                stdout=log,
                preexec_fn=limit,
            )

    @property
    def code(self) -> int | None:
        return self.process.poll()

    def family(self) -> list[int]:
        """The command and all processes below it, parents first."""
        parents = dict(_parents())
        found = [self.process.pid]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found

    def memory(self) -> int:
        """Bytes that all of its processes hold together."""
        return sum(map(_resident, self.family()))

    def wait(self, seconds: float) -> None:
        """For so long, or until it ends."""
        end = time.monotonic() + seconds
        while self.code is None and time.monotonic() < end:
            time.sleep(0.05)

    def end(self) -> int:
        """Wait for its end; whatever it said must be clear."""
        code = self.process.wait()
        said = self.said.read_text(errors="replace")
        if UNCLEAR in said or "Traceback" in said:
            raise SystemExit(f"an unclear message: {said}")
        return code


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def kill_a_worker(command: Command, rng: random.Random) -> None:
    """End one of the processes that the command's work is done in."""
    workers = [pid for pid in command.family()[2:] if b"worker_process" in _words(pid)]
    if workers:
        _signal(rng.choice(workers), signal.SIGKILL)


def interrupt(command: Command, rng: random.Random) -> None:
    """Ctrl-C."""
    _signal(command.process.pid, signal.SIGINT)
    command.end()


def kill(command: Command, rng: random.Random) -> None:
    """End the command and all that belongs to it at once."""
    for pid in command.family():
        _signal(pid, signal.SIGKILL)
    command.end()


FAULTS: dict[str, Callable[[Command, random.Random], None]] = {
    "worker killed": kill_a_worker,
    "interrupted": interrupt,
    "killed": kill,
}
FULL = "disk full"


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def undisturbed(settings: Path, folder: Path) -> list[int]:
    """Run in peace; returns the memory in use, second by second."""
    command, memory = Command(settings, folder), []
    while command.code is None:
        memory.append(command.memory())
        command.wait(1.0)
    if command.end() != 0:
        raise SystemExit(f"the undisturbed run failed: {command.said.read_text()}")
    return memory


def disturbed(settings: Path, folder: Path, seconds: float, rng: random.Random) -> Counter[str]:
    """Run with faults, about one in a tenth of the time that an undisturbed run took; returns how many there were."""
    faults: Counter[str] = Counter()
    while True:
        full = rng.random() < 0.25 and folder.exists()
        command = Command(settings, folder, largest_file=_largest(folder) + ROOM if full else None)
        while command.code is None:
            command.wait(rng.uniform(0.05, 0.2) * seconds + 1.0)
            if command.code is None and not full:
                name = rng.choice(list(FAULTS))
                FAULTS[name](command, rng)
                faults[name] += 1
        code = command.end()
        if full and code in (2, 3):
            faults[FULL] += 1
        elif code == 0:
            return faults
        elif code not in (130, -signal.SIGKILL):
            raise SystemExit(f"ended with {code}: {command.said.read_text()}")


def _largest(folder: Path) -> int:
    return max((path.stat().st_size for path in folder.rglob("*") if path.is_file()), default=0)


def findings(folder: Path) -> dict[str, Any]:
    """Everything that a run found, without what it cost."""
    artefacts = json.loads((folder / "run.json").read_text())["artefacts"]
    return {path: _timeless(json.loads((folder / path).read_text())) for path in sorted(artefacts)}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(part) for key, part in value.items() if key != "seconds"}
    return [_timeless(part) for part in value] if isinstance(value, list) else value


def thirds(memory: list[int]) -> tuple[int, int]:
    """The most memory in the middle third of the time, and in the last."""
    third = max(1, len(memory) // 3)
    return max(memory[third : 2 * third] or memory), max(memory[2 * third :] or memory)


def main() -> int:
    parser = argparse.ArgumentParser(description="A long campaign, once in peace and once disturbed.")
    parser.add_argument("--minutes", type=float, default=60.0, help="about how long both runs take together")
    parser.add_argument("--seed", type=int, default=None, help="which faults happen when")
    given = parser.parse_args()
    seed = int(time.time()) if given.seed is None else given.seed
    begun = time.monotonic()
    with TemporaryDirectory() as place:
        settings, peace, noise = (Path(place, name) for name in ("campaign.yaml", "peace", "noise"))
        settings.write_text(json.dumps(campaign(given.minutes / 2)))
        memory = undisturbed(settings, peace)
        alone = time.monotonic() - begun
        faults = disturbed(settings, noise, alone, random.Random(seed))
        same = findings(peace) == findings(noise)
    middle, last = thirds(memory)
    flat = last <= MOST_GROWTH * middle
    print(
        f"undisturbed {alone:.0f} s, disturbed {time.monotonic() - begun - alone:.0f} s (seed {seed}); faults: "
        f"{', '.join(f'{count} × {name}' for name, count in sorted(faults.items())) or 'none'}; "
        f"results {'the same' if same else 'DIFFER'}; memory {middle / MIB:.0f} MiB in the middle third, "
        f"{last / MIB:.0f} MiB in the last: {'flat' if flat else 'IT GROWS'}"
    )
    return 0 if same and flat and faults else 1


if __name__ == "__main__":
    sys.exit(main())
