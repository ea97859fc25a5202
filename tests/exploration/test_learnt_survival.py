"""How often a learnt policy survives, as counted: shares stay shares."""

from __future__ import annotations

import numpy as np

from tightrope.exploration.learnt_model import Transitions, safest_policy
from tightrope.exploration.learnt_survival import LearntSurvival
from tightrope.seeding import stable_hash


def test_who_never_came_to_harm_survives_always_and_no_more_often() -> None:
    # Thirds, sevenths and the like, multiplied over a hundred steps, add up to more than one by some digits.
    rng, seen = np.random.default_rng(0), Transitions()
    for key in range(12):
        for action in range(3):
            for target in rng.integers(12, size=7):
                seen.add(key, action, int(target))
    model = LearntSurvival(seen, Transitions(), safest_policy(seen, 100), 100)
    before, after = model.of([(stable_hash(key), action) for key in range(12) for action in range(3)])
    assert before.max() <= 1.0
    assert after.max() <= 1.0
    assert before[0].min() > 1 - 1e-9
