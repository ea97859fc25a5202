"""Step 1: a way to solve the task, and the places on it where the search nearly died."""

from tightrope.references.demonstrations import demonstrate
from tightrope.references.files import load_reference, reference_from_json, reference_to_json, save_reference
from tightrope.references.minari import minari_traces
from tightrope.references.probing import probe_boundary
from tightrope.references.result import SearchResult, SearchStats
from tightrope.references.sampling import repetitions
from tightrope.references.searching import METHODS, find_method, search, with_keys
from tightrope.references.session import SearchSession
from tightrope.references.several import find_references

__all__ = [
    "METHODS",
    "SearchResult",
    "SearchSession",
    "SearchStats",
    "demonstrate",
    "find_method",
    "find_references",
    "load_reference",
    "minari_traces",
    "probe_boundary",
    "reference_from_json",
    "reference_to_json",
    "repetitions",
    "save_reference",
    "search",
    "with_keys",
]
