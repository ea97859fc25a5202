"""Worlds that are no Gymnasium environments, made into such."""

from tightrope.tasks.adapters.crafter import crafter_env
from tightrope.tasks.adapters.many_agents import one_agent_env
from tightrope.tasks.adapters.procgen import procgen_env
from tightrope.tasks.adapters.renewed import renewed_env

__all__ = ["crafter_env", "one_agent_env", "procgen_env", "renewed_env"]
