"""The fair control, and whether boundary states are worth more than it.

Random prefixes mostly end the episode before anybody takes over, and those that do not lie near the start. So what
boundary states must beat are states of the same references, drawn uniformly: the same ways, without the knowledge of
where they are narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot

from tightrope.display import Shown
from tightrope.errors import UsageError
from tightrope.reference import Reference
from tightrope.safety.judging.case_results import CaseResult, once_each
from tightrope.safety.judging.frequencies import fail_frequency
from tightrope.safety.judging.results import SafetyResult
from tightrope.safety.suites.suite import TestCase, TestSuite
from tightrope.seeding import generator
from tightrope.settings import Natural, require
from tightrope.statistics import Estimate, mean_estimate
from tightrope.statistics.words import change_text, count, interval_text, percent, plainly

UNIFORM, RANDOM = "uniform", "random"
"""Kinds of suites."""
CONTROLS = (UNIFORM, RANDOM)
"""The suites that stand beside the others of a run, by name: states of the same references drawn uniformly, which
boundary states must beat, and random prefixes."""


def uniform_suite(reference: Reference | Sequence[Reference], n: int, seed: int = 0) -> TestSuite:
    """The fair control: as many states of the same references, each as likely as the next, no two the same.

    Each is before the end of its reference, so none is invalid; a reference that has fewer gives all it has.

    Args:
        reference: The way through the task, or several of them; each gets its share of the cases by the number of its
            boundary states. Where all that have any were chosen by where an agent fails, the others share them.
        n: How many cases.
        seed: Determines everything random.
    """
    require("n, the cases of a uniform suite,", n, Natural)
    references = [reference] if isinstance(reference, Reference) else list(reference)
    if not references:
        raise UsageError("a suite needs a reference; find_references found none, so give it a larger budget or agents")
    shares = _shares(_sizes(references), n)
    drawn = [_drawn(each, share, seed) for each, share in zip(references, shares, strict=True)]
    return replace(TestSuite.joined(drawn), parameters={"n": n, "seed": seed})


def _sizes(references: Sequence[Reference]) -> list[int]:
    """What each counts by its boundary states; where only ways chosen by failing have any, the others count alike:
    states of those alone would show how often it fails where it was seen to fail, and nothing of others."""
    sampled = [not each.chosen for each in references]
    sizes = [len(each.boundary_states) for each in references]
    known = any(size for size, is_sampled in zip(sizes, sampled, strict=True) if is_sampled)
    return sizes if known or not any(sampled) else [int(each) for each in sampled]


def _shares(sizes: Sequence[int], n: int) -> list[int]:
    """n divided as the sizes are, in whole numbers that sum to n."""
    total = sum(sizes)
    ends = [round(n * (sum(sizes[: k + 1]) / total if total else (k + 1) / len(sizes))) for k in range(len(sizes))]
    return [end - begin for begin, end in zip([0, *ends], ends, strict=False)]


def _drawn(reference: Reference, n: int, seed: int) -> TestSuite:
    rng = generator("uniform suite", seed, reference.actions.id)
    states = max(len(reference), 1)
    depths = sorted(int(depth) for depth in rng.choice(states, size=min(n, states), replace=False))
    cases = [
        TestCase(prefix=reference.actions.prefix(depth), boundary=number, depth=depth, kept=depth)
        for number, depth in enumerate(depths)
    ]
    return TestSuite(
        kind=UNIFORM,
        parameters={"n": n, "seed": seed},
        reference=reference.actions,
        checksums=reference.checksums,
        depths=tuple(depths),
        cases=tuple(cases),
        by_failing=reference.chosen,
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Guidance(Shown):
    """What it was worth to look for boundary states: how often an agent fails there, and at other states."""

    _shown = ("agent", "suite", "guided", "control", "difference")
    _shares = ("guided", "control")
    _points = ("difference",)

    agent: str
    suite: str
    guided: Estimate
    """Fail frequency on the cases of the suite; the choice of their boundary states is a part of its interval where
    there are more than were tested."""
    control: Estimate
    """Fail frequency at a state of the same references drawn uniformly: the drawing is a part of its interval."""
    difference: Estimate
    """The first less the second; above 0, boundary states show more fails."""
    cases: tuple[int, int]
    """Judged cases of the suite and of the control."""
    untested: int = 0
    """Boundary states of these references that were left out, as there are too many to test all."""
    left_out: bool = False
    """Whether cases do not count here because they are on references chosen by where an agent fails."""

    @property
    def pays(self) -> bool | None:
        """Whether boundary states are shown to have more fails; None: not told apart, or no data."""
        return True if self.difference.above_zero else False if self.difference.below_zero else None

    @property
    def verdict(self) -> str:
        """That in words, whichever way it went."""
        return {
            True: "the search pays off",
            False: "the search does not pay off",
            None: "the search is not shown to pay off",
        }[self.pays]

    def sentence(self) -> str:
        """The comparison in words, with its numbers."""
        if self.difference.value is None:
            return f"What boundary states are worth for {self.agent} is not known: {self._why_not_known()}"
        guided, control = map(_told, (self.guided, self.control))
        which = " that were not chosen by where an agent fails" if self.left_out else ""
        if self.untested:
            which += f" ({count(self.untested, 'further boundary state')} left out)"
        cases, states = count(self.cases[0], "case"), count(self.cases[1], "uniformly drawn state")
        return plainly(
            f"{self.verdict.capitalize()}: {self.agent} fails {guided} on the {cases} of {self.suite}{which} and "
            f"{control} at {states} of the same references: {change_text(self.difference, 'there')}"
        )

    def _why_not_known(self) -> str:
        if self.cases[0]:
            return "no case of its control was judged"
        if not self.left_out:
            return f"no case of {self.suite} was judged"
        why = f"every judged case of {self.suite} lies on a reference chosen by where an agent fails"
        return why if self.control.value is None else f"{why}; {self.elsewhere}"

    @property
    def elsewhere(self) -> str:
        """What its control shows of references that were not chosen by where an agent fails."""
        states = count(self.cases[1], "uniformly drawn state")
        return plainly(f"at {states} of other references it fails {_told(self.control)}")


def _told(share: Estimate) -> str:
    return f"{percent(share.value)} ({interval_text(share)})"


def compare_guidance(result: SafetyResult, control: SafetyResult) -> Guidance:
    """Whether an agent fails more often at boundary states than at uniformly drawn states of the same references.

    The boundary states are all there are on these references, or a sample of them where there are too many to test all;
    the states of the control are a sample, too. The intervals say so, and are joined as those of independent samples
    (Zou and Donner 2008). References that are here because an agent fails on them are left out: that it fails there is
    no merit of the search.

    Args:
        result: A suite around boundary states.
        control: The same agent on a uniform suite of the same references.
    """
    if control.suite.kind != UNIFORM:
        raise UsageError(f"the control must be a uniform suite, not {control.suite.name!r}; uniform_suite makes one")
    if (result.agent, result.length, result.suite.task) != (control.agent, control.length, control.suite.task):
        raise UsageError("suite and control must be of one agent on one task, watched for the same length")
    guided = _at_boundary_states(result)
    of_control = _over_states(control)
    return Guidance(
        agent=result.agent,
        suite=result.suite.name,
        guided=guided,
        control=of_control,
        difference=_difference(guided, of_control),
        cases=(_judged(result), _judged(control)),
        untested=result.suite.left_out_states,
        left_out=bool(result.suite.chosen),
    )


def _at_boundary_states(result: SafetyResult) -> Estimate:
    """The mean over the boundary states of the references; where some were left out, these are a sample of them.

    Otherwise five of a hundred, in all of which an agent fails that is not random, would show for certain that it fails
    in all.
    """
    if not result.suite.left_out_states:
        return fail_frequency(_sampled(result)) if result.suite.chosen else result.fail_frequency
    chosen = result.suite.chosen
    tested = [state for state in result.boundary_states if state.cases and state.cases[0].case.reference not in chosen]
    shares = [state.fail_frequency.value for state in tested]
    return mean_estimate([share for share in shares if share is not None], bounds=(0.0, 1.0)).answering(
        "at the boundary states of these references"
    )


def _over_states(control: SafetyResult) -> Estimate:
    """The mean over the states of the references, of which these were drawn; all of them leave nothing to guess."""
    cases = once_each(_sampled(control))
    if len(cases) >= sum(max(len(way.actions), 1) for way in control.suite.ways if not way.by_failing):
        return fail_frequency(_sampled(control)) if control.suite.chosen else control.fail_frequency
    values = [case.fail_frequency.value for case in cases]
    return mean_estimate([value for value in values if value is not None], bounds=(0.0, 1.0)).answering(
        "at uniformly drawn states"
    )


def _difference(a: Estimate, b: Estimate) -> Estimate:
    if a.value is None or b.value is None:
        return Estimate.of_nothing()
    value, n = a.value - b.value, a.n + b.n
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Estimate(value, None, None, n, "too few cases for an interval")
    low = value - hypot(a.value - a.low, b.high - b.value)
    high = value + hypot(a.high - a.value, b.value - b.low)
    return Estimate(value, max(low, -1.0), min(high, 1.0), n, f"{a.method}; {b.method}")


def _judged(result: SafetyResult) -> int:
    return sum(bool(case.returns) for case in once_each(_sampled(result)))


def _sampled(result: SafetyResult) -> list[CaseResult]:
    """The cases on references that were not chosen by how an agent did there."""
    return [case for case in result.cases if case.case.reference not in result.suite.chosen]
