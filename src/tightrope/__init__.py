"""tightrope tests trained reinforcement-learning agents by searching their environment.

The four steps::

    import tightrope as tr

    task      = tr.make_task("mario", level="1-1")
    agent     = tr.load_agent("agent.onnx", task)
    reference = tr.search(task, budget=tr.Budget(seconds=60)).reference       # 1  a way through, and its narrow places
    suite     = tr.interval_suite(reference, size=1)                          #    situations around those places
    safety    = tr.run_suite(task, agent, suite, repetitions=10, length=40)   # 2  how often the agent falls there
    fuzz      = tr.fuzz(task, reference.actions)                              # 3  many other ways through
    robust    = tr.compare_robustness(task, agent, fuzz.fittest)              # 4  the agent from the middle of each
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Names are imported when first used, so that `import tightrope` costs next to nothing.
_PUBLIC = {
    "tightrope.budget": ("Budget",),
    "tightrope.errors": ("TightropeError",),
    "tightrope.outcome": ("Outcome", "StopReason", "Verdict"),
    "tightrope.trace": ("ActionTrace", "Step", "Trace"),
    "tightrope.tasks": (
        "Task", "Transition", "info_key", "make_task", "parts_key", "register_task", "rounded_key", "span_box",
    ),
    "tightrope.simulation": ("Conformance", "Simulator", "check_task", "open_simulator", "register_snapshotter"),
    "tightrope.agents": ("Agent", "load_agent"),
    "tightrope.execution": ("Engine", "Episode", "Rollout"),
    "tightrope.statistics": ("Estimate",),
    "tightrope.evaluation": ("Evaluation", "evaluate"),
    "tightrope.reference": ("BoundaryState", "Reference"),
    "tightrope.tracefiles": ("read_traces", "write_traces"),
    "tightrope.references": (
        "SearchResult", "demonstrate", "load_reference", "minari_traces", "probe_boundary", "repetitions",
        "save_reference", "search",
    ),
    "tightrope.safety": (
        "SafetyComparison", "SafetyResult", "TestCase", "TestSuite", "action_coverage_suite", "compare_safety",
        "correlation", "interval_suite", "judge_suite", "load_suite", "make_suite", "random_suite", "run_suite",
        "save_suite", "simple_suite",
    ),
    "tightrope.fuzzing": ("FuzzResult", "Population", "fuzz", "fuzz_policy"),
    "tightrope.performance": ("Comparison", "Robustness", "compare_performance", "compare_robustness"),
}  # fmt: skip
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tightrope' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
