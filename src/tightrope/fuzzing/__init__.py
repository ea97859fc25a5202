"""Step 3: fuzz traces. Breeds traces that go where no earlier one went and still solve the task."""

from tightrope.fuzzing.actions import ActionSource, action_source
from tightrope.fuzzing.fitness import Fitness, Played, score
from tightrope.fuzzing.perturbation import Perturbation, PerturbationKind, Script
from tightrope.fuzzing.policy import fuzz_policy
from tightrope.fuzzing.population import Member, Population, selection_chances
from tightrope.fuzzing.results import Control, FuzzResult, Generation, Individual, Spread
from tightrope.fuzzing.traces import fuzz, fuzz_again

__all__ = [
    "ActionSource",
    "Control",
    "Fitness",
    "FuzzResult",
    "Generation",
    "Individual",
    "Member",
    "Perturbation",
    "PerturbationKind",
    "Played",
    "Population",
    "Script",
    "Spread",
    "action_source",
    "fuzz",
    "fuzz_again",
    "fuzz_policy",
    "score",
    "selection_chances",
]
