"""What several steps need of a situation: playing to it, and whether anyone can survive from it."""
