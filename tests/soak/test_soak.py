"""One of every fault, and the run ends as an undisturbed one; ``make soak`` goes on for as long as is wanted."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.soak.__main__ import is_flat
from tests.soak.command import ROOT, Memory

MIB = 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_a_run_that_meets_every_fault_ends_as_an_undisturbed_one() -> None:
    command = [sys.executable, "-m", "tests.soak", "--minutes", "0.05", "--faults", "4", "--seed", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "results: the same" in done.stdout
    for fault in ("worker killed", "Ctrl-C", "command killed"):
        assert f"1 × {fault}" in done.stdout
    assert "1 × disk full" in done.stdout or "no small disk" in done.stdout


def test_memory_that_grows_is_seen() -> None:
    flat = [Memory(command=200 * MIB, workers=100 * MIB)] * 300
    assert is_flat(flat, 1000)[0]
    leaking = [Memory(command=200 * MIB, workers=(100 + number) * MIB) for number in range(300)]
    assert not is_flat(leaking, 1000)[0]
    hoarding = [Memory(command=(200 + number) * MIB, workers=100 * MIB) for number in range(300)]
    assert not is_flat(hoarding, 1000)[0]
    assert is_flat(hoarding, 100_000)[0], "results hold their episodes"
