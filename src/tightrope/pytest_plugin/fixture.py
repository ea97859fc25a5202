"""What the ``tightrope`` fixture gives a test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tightrope.pytest_plugin.messages import describe_failures, require_judged, require_no_errors, say_plainly
from tightrope.settings import LIBRARY_BACKEND, AgentConfig, BackendName, BehaviourName, PlainConfig, SafetyConfig

if TYPE_CHECKING:
    from tightrope.runs.configuration.config import CampaignConfig
    from tightrope.safety import SafetyResult

MARKED = ("repetitions", "length", "fixed_prefix", "boundary_states")
"""Settings that a marker may have: suites are named in the call, and limits in its assertions."""


def marked_settings(marker: pytest.Mark) -> dict[str, Any]:
    """What a marker sets, if it may."""
    from tightrope.errors import UnknownName, UsageError

    if marker.args:
        raise UsageError(f"settings need their names, as in repetitions=3, not {marker.args[0]!r} alone")
    for name in marker.kwargs:
        if name not in MARKED:
            raise UnknownName("setting", name, MARKED)
    SafetyConfig.require(**marker.kwargs)
    return dict(marker.kwargs)


class Tightrope:
    """What the ``tightrope`` fixture gives a test."""

    def __init__(self, cache: Path, defaults: dict[str, Any], item: pytest.Item) -> None:
        self._cache = cache
        self._defaults = defaults
        self._item = item
        self.notes: list[str] = []
        """What to say of each call when the test fails."""

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
        behaviour: BehaviourName = AgentConfig.behaviour,
        epsilon: float = AgentConfig.epsilon,
        trust: bool = AgentConfig.trust,
        backend: BackendName = LIBRARY_BACKEND,
        search_seconds: float | None = None,
        **options: Any,
    ) -> SafetyResult:
        """Run one suite for one agent; ``options`` are those of the task. The search is done once and kept.

        So many plain ``episodes`` of the agent come before, and what they say stands beside the result (0: none).

        Raises ``CouldNotTest`` when executions raised or none was judged: no assertion could hold on what is left.
        """
        from tightrope.errors import UsageError
        from tightrope.runs.configuration.configfile import configured

        # What is wrong is said by the message and the test's own line.
        __tracebackhide__ = True
        if not isinstance(agent, str):
            raise UsageError(
                f"agent= takes what --agent takes, a file, an address or package.module:factory, not {agent!r:.80}; "
                f"name the function that makes your agent, as in agent='{self._item.path.stem}:make_agent'"
            )
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
        require_no_errors(result.distinct_cases)
        require_judged(result)
        return result

    def _tested(self, config: CampaignConfig) -> SafetyResult:
        from tightrope.errors import UsageError
        from tightrope.runs.campaign import working_on

        # Tests that run side by side share the folder of a task, one after the other.
        with working_on(self._folder(config), config, joins=True, wait=True) as pipeline:
            run = pipeline.run
            plain = pipeline.with_engine(pipeline.plain) if config.plain.episodes else {}
            for evaluation in plain.values():
                self.notes.append(say_plainly(self._item, evaluation))
            if pipeline.search().reference is None:
                raise UsageError(f"no reference was found for {run.task_label}; give search_seconds more time")
            results = pipeline.with_engine(pipeline.safety)
            run.save(status="pytest")
        (by_agent,) = results.values()
        (result,) = by_agent.values()
        self.notes.append(describe_failures(result, run.path, run.task))
        return result

    def _folder(self, config: CampaignConfig) -> Path:
        from tightrope.runs.storage.manifest import VERSION
        from tightrope.runs.storage.names import file_name

        options = (f"{key}={value}" for key, value in sorted(config.options.items()))
        # What an earlier tightrope kept is made anew, and a newer one finds its own again.
        return self._cache / file_name("-".join([f"v{VERSION}", config.task, *options, f"seed={config.seed}"]))
