"""Worlds written in JAX: their state is a value, so it needs no snapshot, and many of them step in one call."""

from tightrope.tasks.jaxworlds.environment import JaxEnvironment
from tightrope.tasks.jaxworlds.tasks import jax_task
from tightrope.tasks.jaxworlds.world import Moment, World

__all__ = ["JaxEnvironment", "Moment", "World", "jax_task"]
