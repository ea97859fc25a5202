"""Verdicts: what executions showed, what anybody could have done instead, and the numbers that follow."""
