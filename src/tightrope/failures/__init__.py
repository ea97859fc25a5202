"""Failures that normal evaluation does not see: small disturbances of an agent's own runs after which it fails."""

from tightrope.failures.result import Disturbance, FailureSearch, FoundFailure
from tightrope.failures.searching import search_failures

__all__ = ["Disturbance", "FailureSearch", "FoundFailure", "search_failures"]
