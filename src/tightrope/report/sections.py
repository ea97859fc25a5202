"""Sections of text that other packages add to the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tightrope.extensions import LOG, extensions, loaded
from tightrope.guards.faults import misdeed
from tightrope.report.results import Finding, Results

GROUP = "tightrope.report_sections"
"""Entry points of packages that bring sections: each names a function from the results to the findings it adds."""


def with_sections(results: Results) -> Results:
    """The results with what other packages say about them; a section written anew takes the place of the old one."""
    added = {finding.title: finding for finding in _findings(results)}
    kept = [finding for finding in results.findings if finding.title not in added]
    return replace(results, findings=(*kept, *added.values()))


def _findings(results: Results) -> Iterator[Finding]:
    for name, section in loaded(GROUP, _broken_rule).items():
        try:
            yield from _checked(section(results))
        except BaseException as error:
            # The measurements are worth more than one package's words about them.
            LOG.warning("left out: %s %s", extensions(GROUP)[name].title, misdeed(error))


def _checked(findings: Iterable[Finding]) -> list[Finding]:
    found = list(findings)
    wrong = next((finding for finding in found if not isinstance(finding, Finding)), None)
    if wrong is not None:
        raise TypeError(f"a tightrope.report.Finding is needed, not {wrong!r:.80}")
    return found


def _broken_rule(section: Any) -> str:
    return "" if callable(section) else f"a function of the results is needed, not {section!r:.80}"
