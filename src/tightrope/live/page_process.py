"""A live page beside a run: a process of its own, so that neither it nor a browser can do anything to the run.

The command writes lines to its standard input: first what to serve, then how far the work has come. It ends when that
is closed, and is killed with its parent.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tightrope.errors import UsageError
from tightrope.live.state import SECONDS_TO_ARRIVE, SECONDS_TO_LINGER, State

SECONDS_TO_START = 60.0
SECONDS_TO_END = SECONDS_TO_LINGER + SECONDS_TO_ARRIVE + 2.0
SECONDS_BETWEEN_WORDS = 0.2
LONGEST_WORDS = 300
"""With what is around them less than a pipe takes at once, so that lines come whole or not at all."""
PROGRAM = "from tightrope.live.page_process import main; main()"


class LivePage:
    """The command's end of it: where the page is, and what it is told."""

    def __init__(self, url: str, pipe: IO[bytes]) -> None:
        self.url = url
        self._pipe = pipe
        self._told = float("-inf")

    def tell(self, words: str, share: float | None = None, *, at_once: bool = False) -> None:
        """Let open pages say how far the work has come; what cannot be told at once is not told."""
        if at_once or time.monotonic() - self._told >= SECONDS_BETWEEN_WORDS:
            self._told = time.monotonic()
            self._write({"words": words[:LONGEST_WORDS], "share": share})

    def end(self, words: str) -> None:
        """Let open pages say how the command ended."""
        self._write({"words": words[:LONGEST_WORDS], "share": None, "over": True})

    def _write(self, content: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            os.write(self._pipe.fileno(), json.dumps(content).encode() + b"\n")


@contextmanager
def live_page(folder: Path, port: int | None) -> Iterator[LivePage]:
    """A page that shows what becomes of a run folder for as long as this lasts."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        bufsize=0,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        page = _begun(process, folder, port)
        yield page
        process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def _begun(process: subprocess.Popen[bytes], folder: Path, port: int | None) -> LivePage:
    assert process.stdin is not None
    assert process.stdout is not None
    order = {"folder": str(folder.resolve()), "port": port, "key": secrets.token_urlsafe(16), "parent": os.getpid()}
    process.stdin.write(json.dumps(order).encode() + b"\n")
    impatient = threading.Timer(SECONDS_TO_START, process.kill)
    impatient.start()
    try:
        answer = json.loads(process.stdout.readline() or "{}")
    finally:
        impatient.cancel()
    if "url" not in answer:
        raise UsageError(answer.get("error", "the live page could not be started; leave out --live"))
    # A page that hangs must not make the run wait: the pipe is never waited for.
    os.set_blocking(process.stdin.fileno(), False)
    return LivePage(answer["url"], process.stdin)


def main() -> None:
    """The page's own process."""
    from tightrope.guards.parents import end_with
    from tightrope.live.served_runs import ServedRuns
    from tightrope.live.server import open_server

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    order = json.loads(sys.stdin.readline())
    end_with(order["parent"])
    running, state = Path(order["folder"]), State()
    served = ServedRuns(root=running.parent, depth=1, running=running)
    try:
        server = open_server(served, order["port"], key=order["key"], state=state)
    except UsageError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    place = next(place for place in served.known().values() if place.path == running)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"url": server.url_of(place)}), flush=True)
    # What a task prints when it is imported goes nowhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        _take(state, json.loads(line))
    if state.over:
        state.linger()
    os._exit(0)


def _take(state: State, told: dict[str, Any]) -> None:
    state.words, state.share = told["words"], told["share"]
    state.over = told.get("over", False)
