"""A kind of suite: what if one had hesitated shortly before each boundary state?"""

from __future__ import annotations

import tightrope as tr
from tightrope_crossing.world import WAIT


def hesitating_suite(asked: tr.SuiteRequest) -> tr.TestSuite:
    """The reference up to 1, 2, … steps before each boundary state, then one step of waiting."""
    reference = asked.reference
    cases = [
        tr.TestCase.on(reference, number, depth - steps, [WAIT])
        for number, depth in enumerate(reference.depths)
        for steps in range(1, min(asked.number, depth) + 1)
    ]
    return tr.TestSuite.on(reference, "hesitating", {"steps": asked.number}, cases)


HESITATING = tr.SuiteKind(name="hesitating", make=hesitating_suite, number="steps", least=1)
