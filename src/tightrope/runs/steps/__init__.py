"""Making what a run holds: each step in order, nothing twice."""
