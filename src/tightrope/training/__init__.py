"""From failures to a better agent: training that begins where the agent fails."""

from __future__ import annotations

from tightrope.training.choice import StartWeights
from tightrope.training.situations import Situation, situations_from
from tightrope.training.starts import SituationStarts
from tightrope.training.vector import SituationStartsVector

__all__ = ["Situation", "SituationStarts", "SituationStartsVector", "StartWeights", "situations_from"]
