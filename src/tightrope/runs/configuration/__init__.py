"""The settings of a whole campaign, and the files they are written in."""
