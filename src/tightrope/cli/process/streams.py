"""The standard streams of the command."""

from __future__ import annotations

import codecs
import os
import sys

SPELT_OUT = "tightrope.spelt_out"
NEAREST = {"✓": "+", "✗": "x", "–": "-", "…": "...", "×": "x", "←": "<-", "→": "->", "\u202f": " ", "\u00a0": " "}


def _spelt_out(error: UnicodeError) -> tuple[str | bytes, int]:
    """A terminal without a sign gets the nearest that it has, or the number of the sign."""
    if isinstance(error, UnicodeEncodeError) and all(sign in NEAREST for sign in error.object[error.start : error.end]):
        return "".join(NEAREST[sign] for sign in error.object[error.start : error.end]), error.end
    return codecs.backslashreplace_errors(error)


codecs.register_error(SPELT_OUT, _spelt_out)


def settle_streams() -> None:
    """What is printed arrives or is lost, but neither a closed stream nor a sign unknown to the terminal is a crash."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        getattr(sys, name).reconfigure(errors=SPELT_OUT)


def keep_stdout_for_results() -> None:
    """Keep the standard output under another number, and let compiled code and workers print to stderr."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = open(kept, "w", encoding=sys.stdout.encoding, errors=SPELT_OUT)  # noqa: SIM115
