"""What networks come in: one file for each library or file format, and what it takes to read it."""
