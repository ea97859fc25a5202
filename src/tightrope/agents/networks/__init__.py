"""Agents that are networks, whatever file they came in: from observations to actions that no batch can change."""
