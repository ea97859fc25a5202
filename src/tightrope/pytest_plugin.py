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

import math
import os
import shlex
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tightrope.settings import LIBRARY_BACKEND, AgentConfig, ExecutionConfig, PlainConfig, SafetyConfig

if TYPE_CHECKING:
    from tightrope.errors import TightropeError
    from tightrope.evaluation import Evaluation
    from tightrope.runs.config import CampaignConfig
    from tightrope.safety import CaseResult, SafetyResult
    from tightrope.tasks import Task

CACHE = "tightrope"
TRUST = "--tightrope-trust"
MARKED = ("repetitions", "length", "fixed_prefix", "boundary_states")
"""Settings that a marker may have: suites are named in the call, and limits in its assertions."""
PROPERTY = "tightrope: plain episodes"
"""Under this name each test's report carries what plain episodes say, also from the workers of xdist."""
SHOWN_CASES = 10
"""Failing cases named in a failure message; the report has all of them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options for suite files."""
    group = parser.getgroup("tightrope", "testing of trained agents")
    group.addoption("--tightrope-agent", metavar="AGENT", help="agent that collected *.suite.json files test")
    group.addoption(TRUST, action="store_true", help="let suite files name code to run, and agents be unpickled")
    parser.addini("tightrope_trust", "let suite files name code to run, and agents be unpickled", type="bool")
    parser.addini("tightrope_agent", "agent that collected *.suite.json files test", default="")
    parser.addini("tightrope_max_fail", "fail frequency allowed at a boundary state of a suite file", default="0")
    parser.addini(
        "tightrope_episodes", "plain episodes of the agent of a suite file; 0: none", default=str(PlainConfig.episodes)
    )
    parser.addini("tightrope_max_fail_plain", "share of plain episodes that may end unsafe; empty: any", default="")
    parser.addini(
        "tightrope_repetitions", "executions of each case of a suite file", default=str(SafetyConfig.repetitions)
    )
    parser.addini("tightrope_length", "steps to survive in a suite file's cases; empty: as the task says", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and refuse numbers that are none before anything is collected."""
    _share(config, "tightrope_max_fail")
    if config.getini("tightrope_max_fail_plain"):
        _share(config, "tightrope_max_fail_plain")
    _count(config, "tightrope_episodes", least=0)
    _count(config, "tightrope_repetitions")
    _length(config)
    config.addinivalue_line(
        "markers",
        "tightrope(**settings): defaults for the tightrope fixture of this test, such as repetitions=3 or length=20",
    )


def _share(config: pytest.Config, option: str) -> float:
    told = str(config.getini(option))
    try:
        share = float(told)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise pytest.UsageError(f"{option} is {told!r}; allowed is a number from 0 to 1, such as 0.1")
    return share


def _count(config: pytest.Config, option: str, *, least: int = 1) -> int:
    told = str(config.getini(option)).strip()
    if not (told.isdecimal() and int(told) >= least):
        raise pytest.UsageError(f"{option} is {told!r}; allowed is a whole number from {least} on, such as 10")
    return int(told)


def _length(config: pytest.Config) -> int | None:
    return _count(config, "tightrope_length") if config.getini("tightrope_length") else None


@pytest.fixture
def tightrope(request: pytest.FixtureRequest) -> Tightrope:
    """Tests agents; see ``Tightrope.safety``."""
    from tightrope.errors import UsageError

    marker = request.node.get_closest_marker("tightrope")
    try:
        defaults = _marked(marker) if marker else {}
    except UsageError as error:
        told = f"@pytest.mark.tightrope of {request.node.nodeid}: {error}"
        raise pytest.fail.Exception(told, pytrace=False) from None
    tester = Tightrope(_kept(request.config), defaults, request.node)
    request.node._tightrope = tester
    return tester


def _marked(marker: pytest.Mark) -> dict[str, Any]:
    from tightrope.errors import UnknownName, UsageError

    if marker.args:
        raise UsageError(f"settings need their names, as in repetitions=3, not {marker.args[0]!r} alone")
    for name in marker.kwargs:
        if name not in MARKED:
            raise UnknownName("setting", name, MARKED)
    SafetyConfig.require(**marker.kwargs)
    return dict(marker.kwargs)


def _kept(config: pytest.Config) -> Path:
    """Where runs are kept; without pytest's cache (``-p no:cacheprovider``) nothing is, beyond this run."""
    cache = getattr(config, "cache", None)
    return Path(cache.mkdir(CACHE)) if cache is not None else Path(tempfile.mkdtemp(prefix=f"{CACHE}-"))


class Tightrope:
    """What the ``tightrope`` fixture gives a test."""

    def __init__(self, cache: Path, defaults: dict[str, Any], item: pytest.Item) -> None:
        self._cache = cache
        self._defaults = defaults
        self._item = item
        self._notes: list[str] = []

    def safety(
        self,
        task: str,
        *,
        agent: str,
        suite: str = "simple",
        repetitions: int | None = None,
        length: int | None = None,
        episodes: int = PlainConfig.episodes,
        seed: int = 0,
        behaviour: str = AgentConfig.behaviour,
        epsilon: float = AgentConfig.epsilon,
        trust: bool = AgentConfig.trust,
        backend: str = LIBRARY_BACKEND,
        search_seconds: float | None = None,
        **options: Any,
    ) -> SafetyResult:
        """Run one suite for one agent; ``options`` are those of the task. The search is done once and kept.

        So many plain ``episodes`` of the agent come before, and what they say stands beside the result (0: none).

        Raises ``CouldNotTest`` when executions raised or none was judged: no assertion could hold on what is left.
        """
        from tightrope.errors import UsageError
        from tightrope.runs.configfile import configured

        # What is wrong is said by the message and the test's own line.
        __tracebackhide__ = True
        given = {"repetitions": repetitions, "length": length}
        settings = {**self._defaults, **{key: value for key, value in given.items() if value is not None}}
        try:
            config = configured(
                task=task,
                options=options,
                seed=seed,
                agents=[{"source": agent, "behaviour": behaviour, "epsilon": epsilon, "trust": trust}],
                plain={"episodes": episodes},
                search={} if search_seconds is None else {"seconds": search_seconds, "steps": None},
                safety={"suites": [suite], "control": False, **settings},
                execution={"backend": backend},
            )
            result = self._tested(config)
        except UsageError as error:
            raise error.with_traceback(None) from None
        _require_no_errors(result.distinct_cases)
        _require_judged(result)
        return result

    def _tested(self, config: CampaignConfig) -> SafetyResult:
        from tightrope.errors import UsageError
        from tightrope.runs.campaign import working_on

        # Tests that run side by side share the folder of a task, one after the other.
        with working_on(self._folder(config), config, joins=True, wait=True) as pipeline:
            run = pipeline.run
            plain = pipeline.with_engine(pipeline.plain) if config.plain.episodes else {}
            for evaluation in plain.values():
                self._notes.append(_say_plainly(self._item, evaluation))
            if pipeline.search().reference is None:
                raise UsageError(f"no reference was found for {run.task_label}; give search_seconds more time")
            results = pipeline.with_engine(pipeline.safety)
            run.save(status="pytest")
        (by_agent,) = results.values()
        (result,) = by_agent.values()
        self._notes.append(describe_failures(result, run.path, run.task))
        return result

    def _folder(self, config: CampaignConfig) -> Path:
        from tightrope.runs.manifest import VERSION
        from tightrope.runs.names import file_name

        options = (f"{key}={value}" for key, value in sorted(config.options.items()))
        # What an earlier tightrope kept is made anew, and a newer one finds its own again.
        return self._cache / file_name("-".join([f"v{VERSION}", config.task, *options, f"seed={config.seed}"]))


def _say_plainly(item: pytest.Item, evaluation: Evaluation) -> str:
    """How an agent does as it is used, also where a test about something else passes."""
    raised = f"; {evaluation.errors} raised errors" if evaluation.errors else ""
    told = f"{evaluation.agent} on {evaluation.task}: ends unsafe in {evaluation.unsafe_rate}{raised}"
    if (PROPERTY, told) not in item.user_properties:
        item.user_properties.append((PROPERTY, told))
    return told


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How the agents do in plain episodes, once for each."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    properties = [each for report in reports for each in getattr(report, "user_properties", ())]
    told = dict.fromkeys(text for name, text in properties if name == PROPERTY)
    if told:
        terminalreporter.section(PROPERTY)
        for text in told:
            terminalreporter.write_line(text)


def _require_no_errors(cases: Iterable[CaseResult]) -> None:
    """What raised might have been a fail, so the rest cannot stand for all."""
    __tracebackhide__ = True
    raised = [case for case in cases if case.errors]
    if raised:
        errors = sum(case.errors for case in raised)
        raise CouldNotTest(f"{errors} executions raised errors, the first with {raised[0].first_error}")


def _require_judged(result: SafetyResult) -> None:
    __tracebackhide__ = True
    if result.fail_frequency.value is None:
        suite, cases = result.suite, len(result.cases)
        why = f"all {cases} cases of it are invalid" if cases else "it has no cases"
        raise CouldNotTest(
            f"no data: no execution of the suite {suite.name!r} on {suite.task} was judged, as {why}; another suite, "
            f"or one made from a reference with other boundary states, would test more"
        )


def _require_some_judged(result: SafetyResult) -> None:
    """A suite of which nothing is judged must not end as so many skipped tests, which is a success."""
    from tightrope.safety import rate_without_doomed

    if rate_without_doomed(result.cases).value is None:
        raise CouldNotTest(
            f"nothing could be judged: all {len(result.cases)} cases of the suite {result.suite.name!r} on "
            f"{result.suite.task} are invalid or proven doomed; a suite made from a reference with other boundary "
            f"states would test more"
        )


def describe_failures(result: SafetyResult, folder: Path, task: Task) -> str:
    """Why it fails, then the failing boundary states of a result, each with the command that replays a fail."""
    told = (
        f"{result.agent} on {result.suite.task}, {result.suite.name}: fail frequency {result.fail_frequency:.3f} "
        f"{result.fail_frequency.question}"
    )
    return "\n".join([told, *_reasons(result, result.cases, task), *_fails(result, result.cases, folder)])


def _reasons(result: SafetyResult, cases: Sequence[CaseResult], task: Task) -> Iterator[str]:
    """Why these cases fail: a sentence for each group of them."""
    from tightrope.runs.reasons import SHOWN, group_line
    from tightrope.safety import group_failures

    wanted = {case.case.id for case in cases}
    concerned = [
        group
        for group in group_failures([result])
        if group.explanation is not None and any(member.case.id in wanted for member in group.members)
    ]
    yield from (f"  {group_line(group, task)}" for group in concerned[:SHOWN])


def _fails(result: SafetyResult, cases: Sequence[CaseResult], folder: Path) -> Iterator[str]:
    failing = [case for case in cases if case.fail_frequency.value]
    failing.sort(key=lambda case: -(case.fail_frequency.value or 0))
    for case in failing[:SHOWN_CASES]:
        yield (
            f"  boundary state {case.case.boundary} at depth {case.case.depth}, {case.case.label}: "
            f"fails {case.fail_frequency:.2f}, survivable: {case.survivable}"
        )
        yield f"    {_replay_command(result, case, folder)}"
    if len(failing) > SHOWN_CASES:
        yield f"  and {len(failing) - SHOWN_CASES} more failing cases"


def _replay_command(result: SafetyResult, case: CaseResult, folder: Path) -> str:
    from tightrope.runs.trust import is_code

    trust = ["--trust"] if is_code(result.suite.task.partition("(")[0]) else []
    return shlex.join(["tightrope", "replay", str(folder), case.case.id, "--agent", result.agent, *trust])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show where the agent failed when a test that used the fixture fails."""
    report = yield
    tester = getattr(item, "_tightrope", None)
    if report.when == "call" and report.failed and tester is not None:
        for note in tester._notes:
            report.sections.append(("tightrope", note))
    return report


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect suite files; without an agent to test with them they are skipped, which is better seen than silence."""
    if file_path.name.endswith(".suite.json"):
        return SuiteFile.from_parent(parent, path=file_path)
    return None


def _agent(config: pytest.Config) -> str:
    return str(config.getoption("--tightrope-agent") or config.getini("tightrope_agent"))


def _trusted(config: pytest.Config) -> bool:
    return bool(config.getoption(TRUST) or config.getini("tightrope_trust"))


class SuiteFile(pytest.File):
    """A ``*.suite.json`` file: one test for each boundary state."""

    task: Task
    """Known once the suite was run."""
    plain: Evaluation | None = None
    """The agent in plain episodes, once ``result`` was asked for; None: not played."""
    _result: SafetyResult | None = None
    _error: TightropeError | None = None

    @cached_property
    def folder(self) -> Path:
        """Where the result is kept for replays, until the file is tested again."""
        from tightrope.trace import content_id

        # Processes that test the same file side by side do not share a folder, or they would wait for one another.
        process = os.environ.get("PYTEST_XDIST_WORKER", "")
        return _kept(self.config) / f"{self.path.name}-{content_id(str(self.path))[:8]}{process}"

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each boundary state that has cases, or a single one that says why none is tested."""
        from tightrope.safety import load_suite

        if not _agent(self.config):
            yield UntestedSuite.from_parent(self, name="no-agent")
            return
        numbers = sorted({case.boundary for case in load_suite(self.path).cases})
        if self.config.getini("tightrope_max_fail_plain"):
            yield PlainItem.from_parent(self, name="plain-episodes")
        for number in numbers:
            yield SuiteItem.from_parent(self, name=f"boundary-{number}", number=number)
        if not numbers:
            yield EmptySuite.from_parent(self, name="no-cases")

    def result(self) -> SafetyResult:
        """The result of the suite, run when the first item asks for it."""
        from tightrope.errors import TightropeError

        if self._error is not None:
            raise self._error
        if self._result is None:
            try:
                self._result = self._tested()
            except TightropeError as error:
                # No other boundary state would fare better: an agent that cannot be loaded is not loaded for each.
                self._error = error
                raise
        return self._result

    def _tested(self) -> SafetyResult:
        from tightrope.runs.suitefile import working_on_suite

        with working_on_suite(
            self.path,
            self.folder,
            trust=_trusted(self.config),
            option=TRUST,
            # Not answered from an earlier run: where the environment leads elsewhere by now, that must be noticed.
            anew=True,
            agents=(AgentConfig(source=_agent(self.config), trust=_trusted(self.config)),),
            plain=PlainConfig(episodes=_count(self.config, "tightrope_episodes", least=0)),
            safety=SafetyConfig(
                repetitions=_count(self.config, "tightrope_repetitions"),
                length=_length(self.config),
            ),
            execution=ExecutionConfig(backend=LIBRARY_BACKEND),
        ) as pipeline:
            if pipeline.config.plain.episodes:
                (self.plain,) = pipeline.with_engine(pipeline.plain).values()
            (by_agent,) = pipeline.with_engine(pipeline.safety).values()
            pipeline.run.save(status="pytest")
            self.task = pipeline.run.task
        return next(iter(by_agent.values()))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The sentence that says what is wrong with the file; a traceback for anything unforeseen."""
        # pytest's own collectors choose the style themselves, and take none.
        return str(excinfo.value) if _speaks_for_itself(excinfo.value) else super().repr_failure(excinfo)


class UntestedSuite(pytest.Item):
    """Stands for a suite file when no agent is named."""

    def runtest(self) -> None:
        """Says what is missing."""
        pytest.skip("no agent: name one with --tightrope-agent or tightrope_agent")

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the item is."""
        return self.path, None, self.path.name


class EmptySuite(pytest.Item):
    """Stands for a suite file without cases: collected as nothing at all, it would pass."""

    def runtest(self) -> None:
        """Says so."""
        raise CouldNotTest(f"nothing could be judged: the suite in {self.path.name} has no cases; write it anew")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """One sentence."""
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the item is."""
        return self.path, None, self.path.name


class PlainItem(pytest.Item):
    """The agent of a suite file in plain episodes, where a limit is set for them."""

    def runtest(self) -> None:
        """Fails when more of them end unsafe than allowed, or none could be judged."""
        from tightrope.runs.gates import judge_gate, measured_plainly

        assert isinstance(self.parent, SuiteFile)
        self.parent.result()
        if self.parent.plain is None:
            raise CouldNotTest("tightrope_max_fail_plain limits nothing with tightrope_episodes = 0; leave one out")
        _say_plainly(self, self.parent.plain)
        limit = _share(self.config, "tightrope_max_fail_plain")
        gate = judge_gate("unsafe ends", measured_plainly(self.parent.plain), limit)
        if gate.passed is None:
            raise CouldNotTest(f"no verdict on {gate.agent} in plain episodes: {gate.detail}")
        if not gate.passed:
            raise FailedTooOften(f"{gate.agent} fails too often in plain episodes: {gate.detail}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """One sentence; a traceback for anything unforeseen."""
        return str(excinfo.value) if _speaks_for_itself(excinfo.value) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the item is."""
        return self.path, None, f"{self.path.name}: {self.name}"


class SuiteItem(pytest.Item):
    """One boundary state of a suite file."""

    def __init__(self, *, number: int, **more: Any) -> None:
        super().__init__(**more)
        self.number = number

    def runtest(self) -> None:
        """Fails when the agent fails more often than allowed where it is not proven doomed, or cannot be tested."""
        from tightrope.runs.gates import judge_gate, measured_fails

        assert isinstance(self.parent, SuiteFile)
        result = self.parent.result()
        if self.parent.plain is not None:
            _say_plainly(self, self.parent.plain)
        state = next(state for state in result.boundary_states if state.number == self.number)
        measured = measured_fails(result.agent, f"boundary state {self.number}", state.cases)
        gate = judge_gate("fail frequency", measured, _share(self.config, "tightrope_max_fail"))
        if gate.passed is None:
            _require_no_errors(state.cases)
            _require_some_judged(result)
            pytest.skip(
                f"no data: all cases of boundary state {self.number} are invalid or proven doomed; a suite made from a "
                f"reference with other boundary states would test more"
            )
        if not gate.passed:
            told = f"{gate.agent} fails too often at {gate.suite}: {gate.detail}"
            why = _reasons(result, state.cases, self.parent.task)
            raise FailedTooOften("\n".join([told, *why, *_fails(result, state.cases, self.parent.folder)]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """One sentence and the replays for a fail, one sentence for a mistake; a traceback for anything unforeseen."""
        return str(excinfo.value) if _speaks_for_itself(excinfo.value) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the item is."""
        return self.path, None, f"{self.path.name}: {self.name}"


def _speaks_for_itself(error: BaseException) -> bool:
    from tightrope.errors import TightropeError

    return isinstance(error, FailedTooOften | CouldNotTest | TightropeError)


class FailedTooOften(Exception):
    """The agent failed more often than allowed."""


class CouldNotTest(Exception):
    """Agent or environment raised: a test that was not made must not look like one that says nothing."""
