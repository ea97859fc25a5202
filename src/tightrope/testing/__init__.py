"""Toy worlds with known answers, and contract tests for those who write adapters."""

from tightrope.testing.agent_contract import AgentContract
from tightrope.testing.agents import ConstantAgent, CountingAgent, FunctionAgent, RandomAgent
from tightrope.testing.snapshots import SnapshotterContract
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
    "AgentContract",
    "ConstantAgent",
    "CountingAgent",
    "FunctionAgent",
    "RandomAgent",
    "SnapshotterContract",
    "TabularWorld",
    "corridor_task",
    "deterministic_table",
    "paper_example",
    "tabular_task",
]
