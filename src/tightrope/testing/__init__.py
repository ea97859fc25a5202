"""Toy worlds with known answers, and contract tests for those who write adapters."""

from tightrope.testing.worlds import (
    JUMP,
    WALK,
    TabularWorld,
    corridor_task,
    deterministic_table,
    paper_example,
    tabular_task,
)

__all__ = [
    "JUMP",
    "WALK",
    "TabularWorld",
    "corridor_task",
    "deterministic_table",
    "paper_example",
    "tabular_task",
]
