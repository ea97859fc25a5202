"""tightrope tests trained reinforcement-learning agents by searching their environment.

The four steps::

    import tightrope as tr

    task      = tr.make_task("CartPole-v1")
    agent     = tr.load_agent("agent.onnx", task)
    reference = tr.search(task, budget=tr.Budget(seconds=60)).reference       # 1  a way through, and its narrow places
    suite     = tr.interval_suite(reference, size=1)                          #    situations around those places
    safety    = tr.run_suite(task, agent, suite, repetitions=10, length=40)   # 2  how often the agent fails there
    fuzz      = tr.fuzz(task, reference.actions)                              # 3  many other ways through
    robust    = tr.compare_robustness(task, agent, fuzz.fittest)              # 4  the agent from the middle of each
"""

from __future__ import annotations

import importlib
import sys

__version__ = "0.1.0"


def _read_public_names() -> dict[str, str]:
    """Each public name and the package it comes from, as `__init__.pyi` lists them for type checkers."""
    # Asked of the loader, so that it also works inside a zip file; split by hand, so that nothing is imported for it.
    stub = __spec__.loader.get_data(__file__.rpartition(".")[0] + ".pyi").decode("utf-8")
    lines = (line.split() for line in stub.splitlines() if line.startswith("from "))
    return {name: home for _, home, _, _, _, name in lines}


_HOME = _read_public_names()

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    # Names are imported when first used, so that `import tightrope` costs next to nothing.
    if name not in _HOME:
        raise AttributeError(f"module 'tightrope' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
