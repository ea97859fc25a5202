"""Before the four steps: how the agent does in plain episodes, from the task's own starts."""

from __future__ import annotations

from tightrope.evaluation.compare import PlainComparison, compare_plain
from tightrope.evaluation.plain import evaluate, plain_rollouts
from tightrope.evaluation.quantising import Quantised, quantise_agent
from tightrope.evaluation.result import Evaluation

__all__ = [
    "Evaluation",
    "PlainComparison",
    "Quantised",
    "compare_plain",
    "evaluate",
    "plain_rollouts",
    "quantise_agent",
]
