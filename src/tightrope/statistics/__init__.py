"""Numbers with their uncertainty."""

from tightrope.statistics.clusters import clustered_mean_estimate, clustered_rate_estimate, events_per_exposure
from tightrope.statistics.correlation import correlation_estimate
from tightrope.statistics.estimate import CONFIDENCE, Estimate
from tightrope.statistics.means import (
    difference_estimate,
    interquartile_mean,
    iqm_estimate,
    mean_estimate,
    paired_difference_estimate,
    stratified_mean_estimate,
)
from tightrope.statistics.pairs import PairCounts
from tightrope.statistics.proportions import rate_estimate, stratified_rate_estimate

__all__ = [
    "CONFIDENCE",
    "Estimate",
    "PairCounts",
    "clustered_mean_estimate",
    "clustered_rate_estimate",
    "correlation_estimate",
    "difference_estimate",
    "events_per_exposure",
    "interquartile_mean",
    "iqm_estimate",
    "mean_estimate",
    "paired_difference_estimate",
    "rate_estimate",
    "stratified_mean_estimate",
    "stratified_rate_estimate",
]
