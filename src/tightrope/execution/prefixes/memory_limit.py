"""How much memory snapshots may take when nobody says."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

SHARE = 4
"""A quarter of the memory there is: others live here too."""
MOST = 4 * 2**30
"""The paper's fuzz workload on an emulator fills half of it."""
UNKNOWN = 4 * 2**30
"""Taken for the memory of a machine that does not tell."""

CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def default_memory_limit() -> int:
    """Bytes for the snapshots of all workers together."""
    return min(MOST, _memory() // SHARE)


def _memory() -> int:
    """What this machine has, or the container that it is."""
    found = [UNKNOWN]
    with suppress(ValueError, OSError, AttributeError):  # not every system knows these names
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in CONTAINER_LIMITS:
        with suppress(OSError, ValueError):  # no container, or one without a limit ("max")
            found.append(int(path.read_text()))
    return min(found)
