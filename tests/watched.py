"""Loads files in a process of its own and writes down what Python was asked to do meanwhile.

::

    python -m tests.watched honest.json attacks.json        each a list of [loader, path]

The honest files are loaded first, so that the libraries are there. Then every file is loaded under an audit hook, and
all that is not reading is an alarm: an import, a program compiled or executed, a file opened for writing, a class that
a pickle looks up, a process, a socket.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

HARMLESS = {"os.listdir", "os.scandir", "glob.glob", "glob.glob/2", "pathlib.Path.glob", "os.walk", "sys._getframe"}
HARMLESS |= {"object.__getattr__", "builtins.id", "gc.get_objects", "time.sleep"}


def is_reading(event: str, given: tuple[Any, ...]) -> bool:
    if event == "open":
        _, mode, flags = given
        writing = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        return not writing and not set(mode or "") & set("wax+")
    if event == "compile":
        # Literals are parsed, not compiled: the header of an array, the options in a task's label.
        return given[1] == "<unknown>" and sys._getframe(2).f_code.co_filename.endswith("ast.py")
    return event in HARMLESS


class Watch:
    """The alarms raised while it is on; a hook cannot be taken away again."""

    def __init__(self) -> None:
        self.on, self.alarms = False, []
        sys.addaudithook(self.hear)

    def hear(self, event: str, given: tuple[Any, ...]) -> None:
        if self.on:
            self.on = False  # what the hook itself does is not watched
            if not is_reading(event, given):
                self.alarms.append(f"{event} {given!r:.200}")
            self.on = True


def loaders() -> dict[str, Callable[[str], Any]]:
    import tightrope as tr
    from tests.agents.tasks import MOVES, VECTOR, noise_task
    from tightrope.agents.networks.normalisation import load_normalisation
    from tightrope.references import load_reference
    from tightrope.references.minari import minari_traces
    from tightrope.runs.configuration.configfile import load_config
    from tightrope.runs.suitefile import working_on_suite
    from tightrope.tasks import task_from_label

    noise, lake = noise_task(VECTOR, MOVES), tr.make_task("FrozenLake-v1", is_slippery=False)
    return {
        "agent": lambda path: tr.load_agent(path, noise),
        "trusted agent": lambda path: tr.load_agent(path, noise, trust=True),
        "normalisation": lambda path: load_normalisation(Path(path), trust=False),
        "traces": tr.read_traces,
        "reference": load_reference,
        "suite": lambda path: task_from_label(tr.load_suite(path).task),
        "foreign suite": lambda path: working_on_suite(Path(path), Path("nowhere"), trust=False).__enter__(),
        "campaign": lambda path: load_config(Path(path)),
        "run": tr.open_run,
        "minari": lambda path: minari_traces(path, lake),
    }


def outcome(load: Callable[[str], Any], path: str) -> str:
    from tightrope.errors import TightropeError

    try:
        load(path)
    except TightropeError as error:
        return f"{type(error).__name__}: {error}"
    except BaseException as error:
        return f"unexpected {type(error).__name__}: {error}"
    return "loaded"


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main(honest: str, attacks: str) -> None:
    warnings.simplefilter("ignore")
    # Should a bomb go off, then here and not on the whole machine.
    resource.setrlimit(resource.RLIMIT_AS, (10 * 1024**3, 10 * 1024**3))
    known, watch = loaders(), Watch()
    # Those that no honest file asks for are imported by now, too.
    from tightrope.agents.sources.loaders import all_loaders

    list(all_loaders())
    for loader, path in json.loads(Path(honest).read_text()):
        outcome(known[loader], path)
    told = []
    for loader, path in json.loads(Path(honest).read_text()) + json.loads(Path(attacks).read_text()):
        before, watch.alarms, watch.on = peak(), [], True
        ended = outcome(known[loader], path)
        watch.on = False
        told.append({"outcome": ended, "alarms": watch.alarms, "mebibytes": peak() - before})
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
