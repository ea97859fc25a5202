"""How far a command has come: bars, lines in a log, and the live page."""
