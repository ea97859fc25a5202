"""The command line: one file per verb, in ``verbs``.

Verbs import what they work with inside their functions, so that ``--help`` and a misspelt option answer at once.
"""

from __future__ import annotations

import os
import sys

from tightrope.cli.process.exit_codes import INTERRUPTED, NOTHING_JUDGED
from tightrope.cli.process.streams import keep_stdout_for_results, settle_streams
from tightrope.cli.process.supervision import supervised


def main() -> None:
    """Entry point of the ``tightrope`` command, and the one place that ends it."""
    settle_streams()
    if "--no-color" in sys.argv:
        # Help texts and worker processes have consoles of their own, which know this variable.
        os.environ["NO_COLOR"] = "1"
    try:
        code = supervised(_command)
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)


def _command() -> int:
    if "--json" in sys.argv:
        keep_stdout_for_results()
    return run_command(sys.argv[1:])


def run_command(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    from tightrope.cli.app import app
    from tightrope.cli.output.interface import Interface, use_interface

    interface, rest = Interface.from_arguments(arguments)
    use_interface(interface)
    try:
        with interface.machines_only():
            app(args=rest, prog_name="tightrope")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else NOTHING_JUDGED
    return NOTHING_JUDGED
