"""Numbers with their uncertainty."""

from tightrope.statistics.estimate import Estimate

__all__ = ["Estimate"]
