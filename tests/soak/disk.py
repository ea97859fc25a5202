"""A small disk of its own for a run, so that it can be full in earnest and have room again."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

MARK = "TIGHTROPE_SOAK_DISK"
"""Set in a process that may mount what only itself and its children see."""
ALONE = ["unshare", "--map-root-user", "--mount"]
MIB = 1024**2


def begin_again_where_disks_can_be_made() -> None:
    """Become the same program in a mount namespace of its own; return where the system does not allow that."""
    if MARK in os.environ or subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode != 0:
        return
    os.environ[MARK] = "1"
    os.execvp(ALONE[0], [*ALONE, sys.executable, *sys.orig_argv[1:]])


class SmallDisk:
    """A folder; where the system allows it, it has no more room than was said."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        folder.mkdir()
        self.is_small = MARK in os.environ and _mounted(folder, size)

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"

    def fill(self, room: int) -> None:
        """Leave so many bytes."""
        with self._ballast.open("wb") as file:
            while (size := self._left() - room) > 0:
                try:
                    os.posix_fallocate(file.fileno(), 0, size)
                    break
                except OSError as error:
                    # Whoever writes here at the same time has taken some of it meanwhile.
                    if error.errno != errno.ENOSPC:
                        raise

    def _left(self) -> int:
        about = os.statvfs(self.folder)
        return about.f_bavail * about.f_bsize

    def free(self) -> None:
        """Make room again."""
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        """Give the room back."""
        if self.is_small:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True)


def _mounted(folder: Path, size: int) -> bool:
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    return subprocess.run(mount, capture_output=True, check=False).returncode == 0
