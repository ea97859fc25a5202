"""The command line: one file per verb.

Verbs import what they work with inside their functions, so that ``--help`` and a misspelt option answer at once.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Entry point of the ``tightrope`` command."""
    if "--no-color" in sys.argv:
        # Help texts and worker processes have consoles of their own, which know this variable.
        os.environ["NO_COLOR"] = "1"
    try:
        code = run_command(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


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
