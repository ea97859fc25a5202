"""A long campaign that is disturbed all the time must find what an undisturbed one finds."""
