"""Numbers with their uncertainty, and the question each answers."""

from tightrope.statistics.bounded import ENOUGH_TO_KNOW_THE_RANGE, seen_bounds
from tightrope.statistics.correlation import correlation_estimate
from tightrope.statistics.earnings import Earnings
from tightrope.statistics.estimate import CONFIDENCE, IN_GENERAL, IN_PLAIN_EPISODES, ON_THESE_CASES, Estimate
from tightrope.statistics.general import general_estimate
from tightrope.statistics.iqm import interquartile_mean, iqm_estimate
from tightrope.statistics.means import difference_estimate, mean_estimate, paired_difference_estimate
from tightrope.statistics.pairs import PairCounts
from tightrope.statistics.price import events_per_steps
from tightrope.statistics.proportions import rate_estimate
from tightrope.statistics.returns import stratified_mean_estimate
from tightrope.statistics.sequential import SequentialDecision, SequentialGate
from tightrope.statistics.strata import Stratum, stratified_difference, stratified_rate_estimate
from tightrope.statistics.unseen import Unseen, nothing_unseen, unseen_kinds

__all__ = [
    "CONFIDENCE",
    "ENOUGH_TO_KNOW_THE_RANGE",
    "IN_GENERAL",
    "IN_PLAIN_EPISODES",
    "ON_THESE_CASES",
    "Earnings",
    "Estimate",
    "PairCounts",
    "SequentialDecision",
    "SequentialGate",
    "Stratum",
    "Unseen",
    "correlation_estimate",
    "difference_estimate",
    "events_per_steps",
    "general_estimate",
    "interquartile_mean",
    "iqm_estimate",
    "mean_estimate",
    "nothing_unseen",
    "paired_difference_estimate",
    "rate_estimate",
    "seen_bounds",
    "stratified_difference",
    "stratified_mean_estimate",
    "stratified_rate_estimate",
    "unseen_kinds",
]
