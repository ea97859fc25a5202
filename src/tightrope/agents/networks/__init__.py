"""Agents that are networks."""
