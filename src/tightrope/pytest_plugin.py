"""Fixture, marker and suite-file collection for pytest."""
