"""Fixture, marker and suite-file collection for pytest.

::

    def test_agent_is_safe(tightrope):
        result = tightrope.safety("mario", level="1-1", agent="agent.onnx", suite="interval:1")
        assert result.fail_frequency.high < 0.10

The search and every finished episode are kept in pytest's cache, so the second run only judges. ``*.suite.json`` files
are collected when an agent is named with ``--tightrope-agent`` or the ini option ``tightrope_agent``.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Generator, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tightrope.safety import CaseResult, SafetyResult

CACHE = "tightrope"
SHOWN_CASES = 10
"""Failing cases named in a failure message; the report has all of them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options for suite files."""
    group = parser.getgroup("tightrope", "testing of trained agents")
    group.addoption("--tightrope-agent", metavar="AGENT", help="agent that collected *.suite.json files test")
    parser.addini("tightrope_agent", "agent that collected *.suite.json files test", default="")
    parser.addini("tightrope_max_fail", "fail frequency allowed at a boundary state of a suite file", default="0")
    parser.addini("tightrope_repetitions", "executions of each case of a suite file", default="10")
    parser.addini("tightrope_length", "steps the agent must survive in a suite file's cases", default="40")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        "tightrope(**settings): defaults for the tightrope fixture of this test, such as repetitions=3 or length=20",
    )


@pytest.fixture
def tightrope(request: pytest.FixtureRequest) -> Tightrope:
    """Tests agents; see ``Tightrope.safety``."""
    marker = request.node.get_closest_marker("tightrope")
    tester = Tightrope(_kept(request.config), dict(marker.kwargs) if marker else {})
    request.node._tightrope = tester
    return tester


def _kept(config: pytest.Config) -> Path:
    """Where runs are kept; without pytest's cache (``-p no:cacheprovider``) nothing is, beyond this run."""
    cache = getattr(config, "cache", None)
    return Path(cache.mkdir(CACHE)) if cache is not None else Path(tempfile.mkdtemp(prefix=f"{CACHE}-"))


class Tightrope:
    """What the ``tightrope`` fixture gives a test."""

    def __init__(self, cache: Path, defaults: dict[str, Any]) -> None:
        self._cache = cache
        self._defaults = defaults
        self._notes: list[str] = []

    def safety(
        self,
        task: str,
        *,
        agent: str,
        suite: str = "simple",
        repetitions: int | None = None,
        length: int | None = None,
        seed: int = 0,
        behaviour: str = "greedy",
        epsilon: float = 0.0,
        trust: bool = False,
        backend: str = "inline",
        search_seconds: float = 120.0,
        **options: Any,
    ) -> SafetyResult:
        """Run one suite for one agent; ``options`` are those of the task. The search is done once and kept."""
        from tightrope.campaign.campaign import Campaign
        from tightrope.campaign.config import CampaignConfig
        from tightrope.campaign.folder import RunFolder
        from tightrope.campaign.recording import record_step
        from tightrope.campaign.steps import file_name
        from tightrope.campaign.whole import suite_ids
        from tightrope.errors import UsageError

        given = {"repetitions": repetitions, "length": length}
        settings = {**self._defaults, **{key: value for key, value in given.items() if value is not None}}
        config = CampaignConfig.model_validate(
            {
                "task": task,
                "options": options,
                "seed": seed,
                "agents": [{"source": agent, "behaviour": behaviour, "epsilon": epsilon, "trust": trust}],
                "search": {"seconds": search_seconds},
                "safety": {"suites": [suite], "control": False, **settings},
                "execution": {"backend": backend},
            }
        )
        label = "-".join([task, *(f"{key}={value}" for key, value in sorted(options.items())), f"seed={seed}"])
        folder = RunFolder.create_or_open(self._cache / file_name(label))
        # Tests that run side by side share the folder of a task, one after the other.
        with folder.locked(wait=True):
            campaign = Campaign(config, folder)
            if not folder.manifest_path.exists():
                campaign.write_manifest("pytest")
            if not campaign.search_step()["found"]:
                raise UsageError(f"no reference was found for {campaign.task.label}; give search_seconds more time")
            with campaign.engine() as engine:
                results = campaign.safety_step(engine)
            record_step(campaign, "pytest", suite_ids(results))
        result = results[suite][next(iter(campaign.agents))]
        self._notes.append(describe_failures(result, folder.path))
        return result


def describe_failures(result: SafetyResult, folder: Path) -> str:
    """The failing boundary states of a result, each with the command that replays a fall."""
    told = f"{result.agent} on {result.suite.task}, {result.suite.name}: fail frequency {result.fail_frequency:.3f}"
    return "\n".join([told, *_falls(result.cases, result.agent, folder)])


def _falls(cases: Sequence[CaseResult], agent: str, folder: Path) -> Iterator[str]:
    failing = [case for case in cases if case.fail_frequency.value]
    failing.sort(key=lambda case: -(case.fail_frequency.value or 0))
    for case in failing[:SHOWN_CASES]:
        yield (
            f"  boundary state {case.case.boundary} at depth {case.case.depth}, {case.case.label}: "
            f"fails {case.fail_frequency:.2f}, survivable: {case.survivable}"
        )
        yield f"    tightrope replay {shlex.quote(str(folder))} {case.case.id} --agent {shlex.quote(agent)}"
    if len(failing) > SHOWN_CASES:
        yield f"  and {len(failing) - SHOWN_CASES} more failing cases"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show where the agent fell when a test that used the fixture fails."""
    report = yield
    tester = getattr(item, "_tightrope", None)
    if report.when == "call" and report.failed and tester is not None:
        for note in tester._notes:
            report.sections.append(("tightrope", note))
    return report


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect suite files, when there is an agent to test with them."""
    if file_path.name.endswith(".suite.json") and _agent(parent.config):
        return SuiteFile.from_parent(parent, path=file_path)
    return None


def _agent(config: pytest.Config) -> str:
    return str(config.getoption("--tightrope-agent") or config.getini("tightrope_agent"))


class SuiteFile(pytest.File):
    """A ``*.suite.json`` file: one test for each boundary state."""

    _result: SafetyResult | None = None

    @cached_property
    def folder(self) -> Path:
        """Where the result is kept for replays, until the file is tested again."""
        from tightrope.trace import content_id

        # Processes that test the same file side by side do not share a folder, or they would wait for one another.
        process = os.environ.get("PYTEST_XDIST_WORKER", "")
        return _kept(self.config) / f"{self.path.name}-{content_id(str(self.path))[:8]}{process}"

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each boundary state that has cases."""
        from tightrope.safety import load_suite

        suite = load_suite(self.path)
        for number in sorted({case.boundary for case in suite.cases}):
            yield SuiteItem.from_parent(self, name=f"boundary-{number}", number=number)

    def result(self) -> SafetyResult:
        """The result of the suite, run when the first item asks for it."""
        if self._result is None:
            from tightrope.campaign.folder import RunFolder

            folder = RunFolder(self.folder)
            with folder.locked(wait=True):
                # Not answered from an earlier run: where the environment leads elsewhere by now, that must be noticed.
                folder.clear()
                self._result = self._tested()
        return self._result

    def _tested(self) -> SafetyResult:
        from tightrope.campaign.config import AgentConfig, ExecutionConfig, SafetyConfig
        from tightrope.campaign.suitefile import campaign_of_suite

        campaign = campaign_of_suite(
            self.path,
            self.folder,
            # Whoever runs pytest on a folder runs the code in it anyway.
            trust=True,
            agents=(AgentConfig(source=_agent(self.config)),),
            safety=SafetyConfig(
                repetitions=int(self.config.getini("tightrope_repetitions")),
                length=int(self.config.getini("tightrope_length")),
            ),
            execution=ExecutionConfig(backend="inline"),
        )
        with campaign.engine() as engine:
            (by_agent,) = campaign.safety_step(engine).values()
        campaign.write_manifest("pytest")
        return next(iter(by_agent.values()))


class SuiteItem(pytest.Item):
    """One boundary state of a suite file."""

    def __init__(self, *, number: int, **more: Any) -> None:
        super().__init__(**more)
        self.number = number

    def runtest(self) -> None:
        """Fails when the agent falls more often than allowed where it is not proven doomed, or cannot be tested."""
        from tightrope.safety.judge import rate_without_doomed

        assert isinstance(self.parent, SuiteFile)
        allowed = float(self.config.getini("tightrope_max_fail"))
        result = self.parent.result()
        state = next(state for state in result.boundary_states if state.number == self.number)
        raised = next((case for case in state.cases if case.errors), None)
        if raised is not None:
            raise CouldNotTest(f"{raised.errors} executions raised errors, the first with {raised.first_error}")
        measured = rate_without_doomed(state.cases)
        if measured.value is None:
            pytest.skip(
                f"no data: all cases of boundary state {self.number} are invalid or proven doomed; a suite made from a "
                f"reference with other boundary states would test more"
            )
        if measured.value > allowed:
            told = (
                f"{result.agent} falls in {measured:.2f} of the executions at boundary state "
                f"{self.number}; {allowed:g} is allowed"
            )
            raise FellTooOften("\n".join([told, *_falls(state.cases, result.agent, self.parent.folder)]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """One sentence and the replays for a fall; a traceback for anything else."""
        if isinstance(excinfo.value, FellTooOften | CouldNotTest):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the item is."""
        return self.path, None, f"{self.path.name}: {self.name}"


class FellTooOften(Exception):
    """The agent fell more often than allowed."""


class CouldNotTest(Exception):
    """Agent or environment raised: a test that was not made must not look like one that says nothing."""
