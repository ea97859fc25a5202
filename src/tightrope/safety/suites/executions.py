"""The executions of a suite: what each case weighs, how often it is executed where nobody says, and by which seeds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction

from tightrope.safety.suites.suite import TestCase
from tightrope.seeding import derive_seed

EXECUTIONS = 10
"""The paper's n."""
STANDARD_ERROR = 0.02
"""Of a suite's fail frequency, whatever it is, where luck is set off against what others do with the same luck: of
three cases executed ten times each it is 0.09, and the best there is would be blamed for its bad luck."""


def execution_seed(seed: int, case: str, repetition: int) -> int:
    """The seed of one execution of a case, by its id: whoever acts in it has the same luck."""
    return derive_seed("safety", seed, case, repetition)


def weights_of(cases: Iterable[TestCase]) -> dict[str, Fraction]:
    """By case id, its share of the mean over boundary states of the means over their cases."""
    groups: dict[tuple[int, int], list[str]] = defaultdict(list)
    for case in cases:
        groups[case.reference, case.boundary].append(case.id)
    weights: dict[str, Fraction] = defaultdict(Fraction)
    for group in groups.values():
        for identifier in group:
            weights[identifier] += Fraction(1, len(groups) * len(group))
    return dict(weights)


def executions_to_tell(weights: Mapping[str, Fraction], most: int) -> int:
    """How often each case must be executed for `STANDARD_ERROR`; all together at most ``most``, but never fewer than
    usual.

    It is known before anybody is watched, so that no interval has to allow for when it was stopped.
    """
    if not weights:
        return EXECUTIONS
    # A rate of one half varies most: by 0.25 per execution.
    needed = math.ceil(sum(weight**2 for weight in weights.values()) / 4 / STANDARD_ERROR**2)
    return max(EXECUTIONS, min(needed, most // len(weights)))
