"""Situations to put an agent in: suites, their kinds, their controls and their files."""
