"""Quantiles and tails of the few distributions that intervals are made of.

Only ``scipy.special`` is behind them: importing ``scipy.stats`` takes longer than most commands work.
"""

from __future__ import annotations

from math import isinf

from scipy.special import betaincinv, ndtr, ndtri, stdtr, stdtrit


def normal_quantile(probability: float) -> float:
    """Of the standard normal distribution."""
    return float(ndtri(probability))


def normal_tail(value: float) -> float:
    """How likely a standard normal number is above a value."""
    return float(ndtr(-value))


def student_quantile(probability: float, freedom: float) -> float:
    """Of Student's distribution."""
    return normal_quantile(probability) if isinf(freedom) else float(stdtrit(freedom, probability))


def student_tail(value: float, freedom: float) -> float:
    """How likely a number of Student's distribution is above a value."""
    return normal_tail(value) if isinf(freedom) else float(stdtr(freedom, -value))


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Of the beta distribution."""
    return float(betaincinv(a, b, probability))
