"""Before the four steps: how the agent does in plain episodes, from the task's own starts."""

from __future__ import annotations

from tightrope.evaluation.plain import evaluate, plain_rollouts
from tightrope.evaluation.result import Evaluation

__all__ = ["Evaluation", "evaluate", "plain_rollouts"]
