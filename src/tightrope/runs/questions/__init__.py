"""What is asked of runs that are there: comparisons, histories, explanations, replays."""
