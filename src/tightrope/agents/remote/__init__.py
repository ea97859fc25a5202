"""Agents behind a server."""
