"""Whether a task can be put back exactly, shown on its very environment."""
