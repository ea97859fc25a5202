"""The command line: one file per verb."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the ``tightrope`` command."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    from tightrope.cli.app import app
    from tightrope.cli.interface import Interface, use_interface

    interface, rest = Interface.from_arguments(arguments)
    use_interface(interface)
    try:
        app(args=rest, prog_name="tightrope")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0
