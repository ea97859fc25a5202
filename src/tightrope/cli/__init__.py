"""The command line: one file per verb.

Verbs import what they work with inside their functions, so that ``--help`` and a misspelt option answer at once.
"""

from __future__ import annotations

import codecs
import os
import sys

from tightrope.cli.supervision import INTERRUPTED, NOTHING_JUDGED, supervised

SPELT_OUT = "tightrope.spelt_out"
NEAREST = {"✓": "+", "✗": "x", "–": "-", "…": "...", "×": "x", "←": "<-", "→": "->", "\u202f": " ", "\u00a0": " "}


def main() -> None:
    """Entry point of the ``tightrope`` command, and the one place that ends it."""
    _settle_streams()
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
        _keep_stdout_for_results()
    return run_command(sys.argv[1:])


def run_command(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    from tightrope.cli.app import app
    from tightrope.cli.interface import Interface, use_interface

    interface, rest = Interface.from_arguments(arguments)
    use_interface(interface)
    try:
        with interface.machines_only():
            app(args=rest, prog_name="tightrope")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else NOTHING_JUDGED
    return NOTHING_JUDGED


def _spelt_out(error: UnicodeError) -> tuple[str | bytes, int]:
    """A terminal without a sign gets the nearest that it has, or the number of the sign."""
    if isinstance(error, UnicodeEncodeError) and all(sign in NEAREST for sign in error.object[error.start : error.end]):
        return "".join(NEAREST[sign] for sign in error.object[error.start : error.end]), error.end
    return codecs.backslashreplace_errors(error)


codecs.register_error(SPELT_OUT, _spelt_out)


def _settle_streams() -> None:
    """What is printed arrives or is lost, but neither a closed stream nor a sign unknown to the terminal is a crash."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        getattr(sys, name).reconfigure(errors=SPELT_OUT)


def _keep_stdout_for_results() -> None:
    """Keep the standard output under another number, and let compiled code and workers print to stderr."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = open(kept, "w", encoding=sys.stdout.encoding, errors=SPELT_OUT)  # noqa: SIM115
