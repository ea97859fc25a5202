"""Step 4: performance. The agent against the fuzz traces, from reset and from the middle of them."""

from tightrope.performance.results import Comparison, PrefixTest, Robustness
from tightrope.performance.robust import compare_robustness
from tightrope.performance.simple import compare_performance

__all__ = ["Comparison", "PrefixTest", "Robustness", "compare_performance", "compare_robustness"]
