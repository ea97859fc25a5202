"""What a run keeps, where, and how it is known to be still valid."""
