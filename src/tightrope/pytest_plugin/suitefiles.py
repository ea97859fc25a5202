"""Suite files as tests: one for each boundary state."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tightrope.pytest_plugin.messages import (
    CouldNotTest,
    FailedTooOften,
    require_no_errors,
    require_some_judged,
    say_plainly,
    speaks_for_itself,
    told_fails,
)
from tightrope.pytest_plugin.options import (
    TRUST,
    agent_option,
    count_option,
    kept_folder,
    optional_count,
    share_option,
    trusted,
)
from tightrope.settings import LIBRARY_BACKEND, AgentConfig, ExecutionConfig, PlainConfig, SafetyConfig

if TYPE_CHECKING:
    from tightrope.errors import TightropeError
    from tightrope.evaluation import Evaluation
    from tightrope.safety import SafetyResult
    from tightrope.tasks import Task


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
        return kept_folder(self.config) / f"{self.path.name}-{content_id(str(self.path))[:8]}{process}"

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each boundary state that has cases, or a single one that says why none is tested."""
        from tightrope.safety import load_suite

        if not agent_option(self.config):
            yield UntestedSuite.from_parent(self, name="no-agent")
            return
        numbers = sorted({case.boundary for case in load_suite(self.path).cases})
        if self.config.getini("tightrope_max_fail_plain"):
            yield PlainItem.from_parent(self, name="plain-episodes")
        for number in numbers:
            yield SuiteItem.from_parent(self, name=f"place-{number + 1}", number=number)
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
            trust=trusted(self.config),
            option=TRUST,
            # Not answered from an earlier run: where the environment leads elsewhere by now, that must be noticed.
            anew=True,
            agents=(AgentConfig(source=agent_option(self.config), trust=trusted(self.config)),),
            plain=PlainConfig(episodes=count_option(self.config, "tightrope_episodes", least=0)),
            safety=SafetyConfig(
                repetitions=optional_count(self.config, "tightrope_repetitions"),
                length=optional_count(self.config, "tightrope_length"),
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
        return str(excinfo.value) if speaks_for_itself(excinfo.value) else super().repr_failure(excinfo)


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
        raise CouldNotTest(f"nothing could be judged: the suite in {self.path.name} has no cases; write it again")

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
        from tightrope.runs.gates import judge_gate
        from tightrope.runs.measurements import measured_plainly

        assert isinstance(self.parent, SuiteFile)
        self.parent.result()
        if self.parent.plain is None:
            raise CouldNotTest("tightrope_max_fail_plain limits nothing with tightrope_episodes = 0; leave one out")
        say_plainly(self, self.parent.plain)
        limit = share_option(self.config, "tightrope_max_fail_plain")
        gate = judge_gate("unsafe ends", measured_plainly(self.parent.plain), limit)
        if gate.passed is None:
            raise CouldNotTest(f"no verdict on {gate.agent} in plain episodes: {gate.detail}")
        if not gate.passed:
            raise FailedTooOften(f"{gate.agent} fails too often in plain episodes: {gate.detail}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """One sentence; a traceback for anything unforeseen."""
        return str(excinfo.value) if speaks_for_itself(excinfo.value) else super().repr_failure(excinfo, style)

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
        from tightrope.runs.gates import judge_gate
        from tightrope.runs.measurements import measured_fails

        assert isinstance(self.parent, SuiteFile)
        result = self.parent.result()
        if self.parent.plain is not None:
            say_plainly(self, self.parent.plain)
        state = next(state for state in result.boundary_states if state.number == self.number)
        measured = measured_fails(result.agent, f"place #{self.number + 1}", state.cases)
        gate = judge_gate("fail frequency", measured, share_option(self.config, "tightrope_max_fail"))
        if gate.passed is None:
            require_no_errors(state.cases)
            require_some_judged(result)
            pytest.skip(
                f"no data: all cases of place #{self.number + 1} are invalid or proven doomed; try a suite made from a "
                f"reference with other boundary states"
            )
        if not gate.passed:
            told = f"{gate.agent} fails too often at {gate.suite}: {gate.detail}"
            fails = told_fails(result, state.cases, self.parent.folder, self.parent.task)
            raise FailedTooOften("\n".join([told, *fails]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """One sentence and the replays for a fail, one sentence for a mistake; a traceback for anything unforeseen."""
        return str(excinfo.value) if speaks_for_itself(excinfo.value) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the item is."""
        return self.path, None, f"{self.path.name}: {self.name}"
