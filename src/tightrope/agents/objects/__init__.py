"""Python objects as agents: how one is asked, what it remembers, and what it is made of."""
