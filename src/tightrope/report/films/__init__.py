"""Films of failures."""
