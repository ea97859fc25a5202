"""Step 1: a way to solve the task, and the places on it where the search nearly died."""

from tightrope.search.demonstrations import demonstrate
from tightrope.search.files import load_reference, reference_from_json, reference_to_json, save_reference
from tightrope.search.minari import minari_traces
from tightrope.search.probing import probe_boundary
from tightrope.search.repetitions import repetitions
from tightrope.search.result import SearchResult, SearchStats
from tightrope.search.searching import METHODS, search

__all__ = [
    "METHODS",
    "SearchResult",
    "SearchStats",
    "demonstrate",
    "load_reference",
    "minari_traces",
    "probe_boundary",
    "reference_from_json",
    "reference_to_json",
    "repetitions",
    "save_reference",
    "search",
]
