"""A road with traffic lights, as a package of its own that extends tightrope."""
