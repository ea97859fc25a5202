"""What keeps code of the user's from taking the run along: when it exits, hangs, or outlives whoever started it."""
