"""Why it failed: the decision that could not be undone, and what would have been better."""

from tightrope.explanation.cause import Cause
from tightrope.explanation.closeup import CloseUp, Instant, close_up
from tightrope.explanation.explaining import explain, explain_episodes
from tightrope.explanation.explanation import Explanation

__all__ = ["Cause", "CloseUp", "Explanation", "Instant", "close_up", "explain", "explain_episodes"]
