"""Numbers with their uncertainty."""

from tightrope.statistics.estimate import CONFIDENCE, Estimate
from tightrope.statistics.means import (
    difference_estimate,
    iqm_estimate,
    mean_estimate,
    paired_difference_estimate,
)

__all__ = [
    "CONFIDENCE",
    "Estimate",
    "difference_estimate",
    "iqm_estimate",
    "mean_estimate",
    "paired_difference_estimate",
]
