"""How likely a failure is in use, down to probabilities that plain episodes never meet."""

from __future__ import annotations

from tightrope.risk.estimating import estimate_failure
from tightrope.risk.result import FailureEstimate

__all__ = ["FailureEstimate", "estimate_failure"]
