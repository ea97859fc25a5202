"""Charts and maps as data."""
