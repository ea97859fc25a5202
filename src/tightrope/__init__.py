"""tightrope tests trained reinforcement-learning agents by searching their environment.

The four steps::

    import tightrope as tr

    task      = tr.make_task("CartPole-v1")
    agent     = tr.load_agent("agent.onnx", task)
    reference = tr.search(task).reference                                     # 1  a way through, and its narrow places
    suite     = tr.interval_suite(reference, size=1)                          #    situations around those places
    safety    = tr.run_suite(task, agent, suite, repetitions=10, length=40)   # 2  how often the agent fails there
    fuzz      = tr.fuzz(task, reference.actions)                              # 3  many other ways through
    robust    = tr.compare_robustness(task, agent, fuzz.fittest)              # 4  the agent from the middle of each
"""

from __future__ import annotations

from tightrope.stubs import homes_of, import_name

__version__ = "0.1.0"

_HOMES = homes_of(__spec__)
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    # Names are imported when first used, so that `import tightrope` costs next to nothing.
    return import_name(__name__, name, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
