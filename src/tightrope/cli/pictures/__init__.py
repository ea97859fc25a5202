"""Episodes shown where the command runs: in a terminal, step by step, or in a window."""
