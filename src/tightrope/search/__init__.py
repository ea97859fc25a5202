"""Step 1: a way to solve the task, and the places on it where the search nearly died."""

from tightrope.search.files import load_reference, save_reference
from tightrope.search.repetitions import repetitions
from tightrope.search.result import SearchResult, SearchStats
from tightrope.search.searching import search

__all__ = ["SearchResult", "SearchStats", "load_reference", "repetitions", "save_reference", "search"]
