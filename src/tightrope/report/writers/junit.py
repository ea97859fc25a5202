"""``junit.xml``: the cases as tests, for continuous integration.

A case in which the agent failed is a failure; one that is proven doomed or invalid is skipped, since it says nothing
about the agent, as at the gates; those are tests of their own. Whether the build breaks is decided by the gates' exit
code, not here.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from tightrope.reference import Survivability
from tightrope.report.results import CaseResult, GateResult, Results, RunResults, SuiteResult
from tightrope.report.wording import estimate_text, general_text
from tightrope.safety.standing import Standing

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(results: Results) -> str:
    """The whole file."""
    root = Element("testsuites", name=_clean(results.title))
    for run in results.runs:
        for suite in run.suites:
            if not suite.control:
                _add_suite(root, run, suite)
        if run.gates:
            _add_gates(root, run)
    _add_totals(root)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_suite(root: Element, run: RunResults, suite: SuiteResult) -> None:
    node = SubElement(root, "testsuite", name=_clean(f"{run.name} · {suite.agent} · {suite.suite}"))
    properties = SubElement(node, "properties")
    for name, value in (
        ("task", run.task.label),
        ("fail frequency on these cases", estimate_text(suite.fail_frequency)),
        ("fail frequency on these cases, survivable ones only", estimate_text(suite.survivable_fail_frequency)),
        ("fail frequency in situations like these", general_text(suite.fail_frequency_in_general)),
    ):
        SubElement(properties, "property", name=name, value=_clean(value))
    for case in suite.cases:
        _add_case(node, run, suite, case)


def _add_case(node: Element, run: RunResults, suite: SuiteResult, case: CaseResult) -> None:
    place = "random situation" if case.depth is None else f"boundary state at depth {case.depth}"
    name = f"{place}, {case.label or 'at it'} [{case.id}]"
    test = SubElement(node, "testcase", classname=_clean(f"{run.name}.{suite.agent}.{suite.suite}"), name=_clean(name))
    times = f"failed {case.fails} of {case.passes + case.fails} times"
    match case.standing:
        case Standing.RAISED:
            SubElement(test, "error", message=f"{case.errors} executions raised")
        case Standing.INVALID:
            SubElement(test, "skipped", message="invalid: the prefix ended before hand-over")
        case Standing.UNTESTED:
            SubElement(test, "skipped", message="no data")
        case Standing.DOOMED:
            SubElement(test, "skipped", message=f"doomed: nobody could survive it; {times}")
        case Standing.FAILED:
            known = "a way out is known" if case.survivable is Survivability.YES else "no way out is known"
            failure = SubElement(test, "failure", message=f"{times}; {known}")
            told = [f"{case.why}." if case.why else "", f"Replay it: {case.replay}" if case.replay else ""]
            failure.text = _clean("\n".join(filter(None, told)))


def _add_gates(root: Element, run: RunResults) -> None:
    node = SubElement(root, "testsuite", name=_clean(f"{run.name} · gates"))
    for gate in run.gates:
        _add_gate(node, run, gate)


def _add_gate(node: Element, run: RunResults, gate: GateResult) -> None:
    name = gate.name if gate.agent is None else f"{gate.name}, {gate.agent}"
    test = SubElement(node, "testcase", classname=_clean(f"{run.name}.gates"), name=_clean(name))
    if gate.passed is None:
        SubElement(test, "skipped", message=_clean(gate.detail or "no data"))
    elif not gate.passed:
        SubElement(test, "failure", message=_clean(gate.detail or "failed"))


def _add_totals(root: Element) -> None:
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    for node in (*root, root):
        tests = list(node.iter("testcase"))
        node.set("tests", str(len(tests)))
        for name, tag in kinds.items():
            if node is not root or name != "skipped":
                node.set(name, str(sum(test.find(tag) is not None for test in tests)))


def _clean(text: str) -> str:
    return NOT_XML.sub("\ufffd", text)
