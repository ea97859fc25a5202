"""Damaged files: whatever tightrope reads is read, or refused by one of its own errors. Nothing else may come out."""
