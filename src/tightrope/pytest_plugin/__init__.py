"""Fixture, marker and suite-file collection for pytest.

::

    def test_agent_is_safe(tightrope):
        result = tightrope.safety("CartPole-v1", agent="agent.onnx", suite="interval:1")
        assert result.fail_frequency.high < 0.10

The search and every finished episode are kept in pytest's cache, so the second run only judges. ``*.suite.json`` files
are tested when an agent is named with ``--tightrope-agent`` or the ini option ``tightrope_agent``, else skipped. What a
suite file names is not imported, and nothing is unpickled, without ``--tightrope-trust`` or ``tightrope_trust``.

Whatever a suite says, how each agent does in plain episodes stands at the end of the session and in JUnit's properties.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tightrope.pytest_plugin.fixture import Tightrope, marked_settings
from tightrope.pytest_plugin.messages import PROPERTY
from tightrope.pytest_plugin.options import add_options, kept_folder, refuse_what_is_no_number
from tightrope.pytest_plugin.suitefiles import SuiteFile

TESTER = pytest.StashKey[Tightrope]()
"""The fixture that a test used."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options for suite files."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and refuse numbers that are none before anything is collected."""
    refuse_what_is_no_number(config)
    config.addinivalue_line(
        "markers",
        "tightrope(**settings): defaults for the tightrope fixture of this test, such as repetitions=3 or length=20",
    )


@pytest.fixture
def tightrope(request: pytest.FixtureRequest) -> Tightrope:
    """Tests agents; see ``Tightrope.safety``."""
    from tightrope.errors import UsageError

    marker = request.node.get_closest_marker("tightrope")
    try:
        defaults = marked_settings(marker) if marker else {}
    except UsageError as error:
        told = f"@pytest.mark.tightrope of {request.node.nodeid}: {error}"
        raise pytest.fail.Exception(told, pytrace=False) from None
    tester = Tightrope(kept_folder(request.config), defaults, request.node)
    request.node.stash[TESTER] = tester
    return tester


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show where the agent failed when a test that used the fixture fails."""
    report = yield
    tester = item.stash.get(TESTER, None)
    if report.when == "call" and report.failed and tester is not None:
        for note in tester.notes:
            report.sections.append(("tightrope", note))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How the agents do in plain episodes, once for each."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    properties = [each for report in reports for each in getattr(report, "user_properties", ())]
    told = dict.fromkeys(text for name, text in properties if name == PROPERTY)
    if told:
        terminalreporter.section(PROPERTY)
        for text in told:
            terminalreporter.write_line(text)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect suite files; without an agent to test with them they are skipped, which is better seen than silence."""
    if file_path.name.endswith(".suite.json"):
        return SuiteFile.from_parent(parent, path=file_path)
    return None
