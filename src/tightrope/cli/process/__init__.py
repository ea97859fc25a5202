"""How a command begins and ends: its streams, its errors, its exit code, and the parent that watches it."""
