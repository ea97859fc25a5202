"""Agents: anything that maps a batch of observations to actions."""

from tightrope.agents.agent import Agent, Answer

__all__ = ["Agent", "Answer"]
