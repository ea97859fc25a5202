"""The ``tightrope`` command as a shell gives it, many times a second.

A process that has imported everything and started nothing forks for each command; what the command does from there on
is what ``python -m tightrope`` does. Importing takes a second, a fork some milliseconds.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tightrope.errors import TightropeError

CLEAR = (0, 1, 2, 3)
LONGEST_LINE = 2_000
ROOT = Path(__file__).resolve().parents[2]
IMPORTED = ("tightrope.cli.app", "tightrope.runs.campaign", "tightrope.report.writers.page", "onnxruntime", "gymnasium")


class Unclear(Exception):
    """A command ended as it must not, or in words that say nothing."""


class Refused(TightropeError):
    """A command ended with a clear message."""


class Commands:
    """Gives commands, one after the other."""

    def __init__(self) -> None:
        self._forker: subprocess.Popen[str] | None = None

    def give(self, *arguments: Any, seconds: int = 100) -> None:
        """Give a command; raises Refused where it says clearly that it cannot, Unclear where it does not."""
        code, told = self._answered([str(argument) for argument in arguments], seconds)
        shown = f"tightrope {' '.join(map(str, arguments))} ended with {code}: {told[-LONGEST_LINE:] or '(nothing)'}"
        if code not in CLEAR or "Traceback" in told or "fault of tightrope" in told:
            raise Unclear(shown)
        # Nothing could be judged: the verdict says "no data" and why.
        if code in (2, 3) and "rror" not in told and "gate" not in told and "no data" not in told:
            raise Unclear(f"no reason given: {shown}")
        if code:
            raise Refused(shown)

    def _answered(self, arguments: list[str], seconds: int) -> tuple[int, str]:
        if self._forker is None:
            self._forker = subprocess.Popen(
                [sys.executable, "-m", "tests.filefuzz.commands"],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "COLUMNS": "200"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            atexit.register(self.close)
        assert self._forker.stdin is not None
        assert self._forker.stdout is not None
        self._forker.stdin.write(json.dumps([seconds, *arguments]) + "\n")
        self._forker.stdin.flush()
        code, told = json.loads(self._forker.stdout.readline())
        return code, told

    def close(self) -> None:
        """End the process that forks."""
        if self._forker is not None:
            self._forker.communicate()


def serve() -> None:
    """Fork for every line of arguments, and answer with the exit code and all that was said."""
    import importlib
    import signal
    from tempfile import TemporaryFile

    for name in IMPORTED:
        importlib.import_module(name)
    for line in sys.stdin:
        seconds, *arguments = json.loads(line)
        with TemporaryFile() as said:
            child = os.fork()
            if not child:
                _become(arguments, said.fileno())
            signal.signal(signal.SIGALRM, lambda *_, child=child: os.kill(child, signal.SIGKILL))  # type: ignore[misc]
            signal.alarm(seconds)
            _, status = os.waitpid(child, 0)
            signal.alarm(0)
            said.seek(0)
            told = said.read().decode(errors="replace")
        print(json.dumps([os.waitstatus_to_exitcode(status), told]), flush=True)


def _become(arguments: list[str], said: int) -> None:
    """In the child: the command, with all that it prints in one file."""
    from tightrope.cli import main

    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, number in ((nothing, 0), (said, 1), (said, 2)):
        os.dup2(target, number)
    sys.argv = ["tightrope", *arguments]
    code: Any = 1
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
