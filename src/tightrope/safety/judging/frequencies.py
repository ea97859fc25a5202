"""The numbers of a suite from its judged cases: on exactly these cases, and in situations like these.

As in the paper a suite's number is the mean over boundary states of the means over their cases. So every case has a
weight; one that two boundary states share has both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from math import fsum
from statistics import fmean

from tightrope.outcome import Verdict
from tightrope.reference import Survivability
from tightrope.safety.judging.avoidable import avoidable_on_cases
from tightrope.safety.judging.case_results import CaseResult, once_each
from tightrope.safety.suites.executions import weights_of
from tightrope.statistics import (
    Estimate,
    Stratum,
    events_per_steps,
    general_estimate,
    stratified_mean_estimate,
    stratified_rate_estimate,
)

JUDGED = (Verdict.PASS, Verdict.FAIL)


def fail_frequency(cases: Iterable[CaseResult]) -> Estimate:
    """How often these cases fail."""
    return stratified_rate_estimate(
        [
            Stratum(values=fails_of(case), weight=weight, certain=case.deterministic)
            for case, weight in case_weights(cases)
        ]
    )


LENGTHS = 40
"""Watch lengths of a curve: more are not seen in a picture."""


def fail_frequency_over_length(cases: Sequence[CaseResult], length: int) -> dict[int, Estimate]:
    """The same had the cases been watched for less: at the steps in which something failed, and at the last."""
    when = {len(episode.actions) for case in cases for episode in case.failing_episodes} | {1, length}
    lengths = sorted(when)
    kept = {lengths[round(place * (len(lengths) - 1) / (LENGTHS - 1))] for place in range(LENGTHS)}
    weighted = case_weights(cases)
    return {
        at: stratified_rate_estimate(
            [
                Stratum(values=_fails_within(case, at), weight=weight, certain=case.deterministic)
                for case, weight in weighted
            ]
        )
        for at in sorted(kept)
    }


def _fails_within(case: CaseResult, length: int) -> list[float]:
    early = sum(len(episode.actions) <= length for episode in case.failing_episodes)
    fails = min(early, len(case.returns))
    return [1.0] * fails + [0.0] * (len(case.returns) - fails)


def mean_return(cases: Iterable[CaseResult]) -> Estimate:
    """What the agent earns on these cases, from hand-over on."""
    return stratified_mean_estimate(
        [
            Stratum(values=case.returns, weight=weight, certain=case.deterministic, failed=case.failed)
            for case, weight in case_weights(cases)
        ]
    )


def fail_frequency_in_general(
    cases: Iterable[CaseResult], *, by_case: bool = False, chosen: Collection[int] = ()
) -> Estimate:
    """How often situations like these fail: the mean over references. ``by_case``: cases were drawn one by one.

    ``chosen``: references that are here because an agent failed on them, which are no sample.
    """
    groups = [group for group in by_reference(cases, by_case=by_case) if case_weights(group)]
    sample = [group for group in groups if group[0].case.reference not in chosen]
    values = [fsum(weight * fmean(fails_of(case)) for case, weight in case_weights(group)) for group in sample]
    return general_estimate(values, unit="random case" if by_case else "reference", left_out=len(groups) - len(sample))


def rate_without_doomed(cases: Iterable[CaseResult]) -> Estimate:
    """How often cases fail that are not proven doomed; those nobody has decided count, or their fails would pass."""
    return fail_frequency(not_doomed(cases))


def avoidable_fail_frequency(cases: Iterable[CaseResult]) -> Estimate:
    """How often cases fail that are not proven doomed, less what nobody can help.

    Doomed ones are left out rather than counted as passed: an agent that fails all it could pass must not be excused by
    the company of cases that nobody could.
    """
    return avoidable_on_cases(case_weights(not_doomed(cases)))


def not_doomed(cases: Iterable[CaseResult]) -> list[CaseResult]:
    """The cases that are not proven doomed."""
    return [case for case in cases if case.survivable is not Survivability.NO]


def fails_per_1000_steps(cases: Iterable[CaseResult], length: int) -> Estimate:
    """Fails for the price: executed episodes and all their steps; a case that two boundary states share is one."""
    strata, steps, fixed = [], [], 0
    for case in once_each(cases):
        played = list(zip(case.executed, case.verdicts, strict=False))
        judged = [(episode, verdict) for episode, verdict in played if verdict in JUDGED]
        fixed += sum(episode.prefix_steps for episode, _ in played)
        fixed += sum(len(episode.actions) for episode, verdict in played if verdict not in JUDGED)
        strata.append(Stratum(values=[float(v is Verdict.FAIL) for _, v in judged], certain=case.deterministic))
        steps.append([float(len(episode.actions)) for episode, _ in judged])
    longest = max([length, *(count for taken in steps for count in taken)])
    return events_per_steps(strata, steps, fixed=fixed, longest=longest)


def case_weights(cases: Iterable[CaseResult]) -> list[tuple[CaseResult, Fraction]]:
    """Each judged case once, with its share of the mean over boundary states of the means over their cases."""
    judged = [case for case in cases if case.returns]
    first = {case.case.id: case for case in reversed(judged)}
    return [(first[identifier], weight) for identifier, weight in weights_of(case.case for case in judged).items()]


def by_reference(cases: Iterable[CaseResult], *, by_case: bool = False) -> list[list[CaseResult]]:
    """The cases of each reference; ``by_case``: each for itself."""
    groups: dict[object, list[CaseResult]] = defaultdict(list)
    for case in cases:
        groups[case.case.id if by_case else case.case.reference].append(case)
    return list(groups.values())


def fails_of(case: CaseResult) -> list[float]:
    """1 for each execution that failed, 0 for each that passed; of one where it stands for all."""
    return [float(failed) for failed in case.failed]
