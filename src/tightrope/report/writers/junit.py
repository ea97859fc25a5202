"""``junit.xml``: the cases as tests, for continuous integration.

A case in which the agent failed is a failure. One that is proven doomed, is invalid or failed no more than nobody can
help is skipped, since it says nothing about the agent, as at the gates; those are tests of their own. Whether the build
breaks is decided by the gates' exit code, not here.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from tightrope.reference import Survivability
from tightrope.report.measures import MEASURES
from tightrope.report.results import Gate, Results, RunResults
from tightrope.report.views import CaseView, SuiteView
from tightrope.report.wording import count, estimate_text, listed
from tightrope.safety.judging.avoidable import tried_by_chance
from tightrope.safety.judging.case_standing import Standing

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


def _add_suite(root: Element, run: RunResults, suite: SuiteView) -> None:
    node = SubElement(root, "testsuite", name=_clean(f"{run.name} · {suite.agent} · {suite.name}"))
    properties = SubElement(node, "properties")
    plain = run.plain.get(suite.agent)
    values = {"task": run.task.label}
    # No suite makes an agent good that fails without being put anywhere.
    values |= {} if plain is None else {"ends unsafe in plain episodes": estimate_text(plain.unsafe_rate)}
    values |= {measure.title: measure.text(suite.result) for measure in MEASURES}
    for name, value in values.items():
        SubElement(properties, "property", name=name, value=_clean(value))
    for case in suite.cases:
        _add_case(node, suite, case)


def _add_case(node: Element, suite: SuiteView, case: CaseView) -> None:
    place = "random situation" if case.place is None else f"place #{case.place} at depth {case.depth}"
    name = f"{place}, {case.label or 'at it'} [{case.id}]"
    where = f"{suite.run.name}.{suite.agent}.{suite.name}"
    test = SubElement(node, "testcase", classname=_clean(where), name=_clean(name))
    times = case.told
    match case.standing:
        case Standing.RAISED:
            SubElement(test, "error", message=f"{count(case.result.errors, 'execution')} raised")
        case Standing.INVALID:
            SubElement(test, "skipped", message="invalid: the prefix ended before hand-over")
        case Standing.UNTESTED:
            SubElement(test, "skipped", message="no data")
        case Standing.DOOMED:
            SubElement(test, "skipped", message=f"doomed: no player could survive it; {times}")
        case Standing.UNLUCKY:
            SubElement(test, "skipped", message=f"{times}: {_luck(case)}")
        case Standing.FAILED:
            failure = SubElement(test, "failure", message=f"{times}; {_whose_fault(case)}")
            told = [f"{case.why}." if case.why else "", f"Replay it: {case.replay}" if case.replay else ""]
            failure.text = _clean("\n".join(filter(None, told)))


def _luck(case: CaseView) -> str:
    if case.result.avoidable.value == 0:
        return "no more than even the best player known fails"
    return "more than the best player known there, but not in the suite as a whole: no more than bad luck is shown"


def _whose_fault(case: CaseView) -> str:
    """What is known of it; where chance decides, one lucky run of somebody is no way out."""
    best = case.result.best_survival
    if best.value is None or best.low == best.high:
        if case.result.survivable is Survivability.YES:
            return "a way out is known"
        # Where nothing is random, who passes it has shown how.
        passing = listed(case.passed_by)
        return f"{passing} {'passes' if len(case.passed_by) == 1 else 'pass'} it" if passing else "no way out is known"
    if not tried_by_chance(case.result):
        return "what others do from where it took over is not known"
    luck = "" if case.blame == "avoidable" else "; that it fails by more than bad luck is not shown"
    return f"others survive there in {estimate_text(best)}{luck}"


def _add_gates(root: Element, run: RunResults) -> None:
    node = SubElement(root, "testsuite", name=_clean(f"{run.name} · gates"))
    for gate in run.gates:
        _add_gate(node, run, gate)


def _add_gate(node: Element, run: RunResults, gate: Gate) -> None:
    name = " ".join(filter(None, (gate.suite, gate.name))) + (f", {gate.agent}" if gate.agent else "")
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
