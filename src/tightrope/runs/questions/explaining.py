"""A failing case of a run, explained: from what the run holds, or now where it holds nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tightrope.agents import Agent
from tightrope.agents.preferences import Preferences
from tightrope.errors import TightropeError, UsageError
from tightrope.execution import Episode
from tightrope.explanation import CloseUp, Explanation, close_up, explain_episodes
from tightrope.explanation.closeup import Instant, escape_of
from tightrope.explanation.watching import Watch, watch
from tightrope.runs.campaign import load_agents
from tightrope.runs.questions.replaying import StoredCase, find_case
from tightrope.runs.run import Run
from tightrope.runs.trust import require_trust
from tightrope.trace import ActionTrace


@dataclass(frozen=True, kw_only=True)
class ExplainedCase:
    """A failing case, why it failed, and what the agent saw and wanted."""

    stored: StoredCase
    explanation: Explanation
    close_up: CloseUp
    note: str = ""
    """Why what the agent wanted is not told, where it could not be asked."""

    @property
    def escape(self) -> ActionTrace | None:
        """The way out that is shown beside the fail."""
        return escape_of(self.explanation)


def explained_case(
    run: Run, case: str, agent: str | None = None, suite: str | None = None, *, trust: bool = False
) -> ExplainedCase:
    """The case whose id begins so, explained."""
    stored = find_case(run, case, agent, suite)
    if not stored.result.failing_episodes:
        raise UsageError(
            f"{stored.agent} did not fail in case {stored.result.case.id}, so there is nothing to explain; "
            f"`tightrope explain {run.path}` lists why it fails where it does"
        )
    return explained(run, stored, trust=trust)


def explained(run: Run, stored: StoredCase, *, trust: bool = False) -> ExplainedCase:
    """A failing case, explained: what the run holds of it is not made again."""
    identifier = stored.result.case.id
    known = run.safety_of(stored.suite, stored.agent)
    why = None if known is None else known.explanations.get(identifier)
    seen = None if known is None else known.close_ups.get(identifier)
    if why is not None and seen is not None:
        return ExplainedCase(stored=stored, explanation=why, close_up=seen)
    agent, note = _agent(run, stored.agent, trust)
    with run.engine({} if agent is None else {agent.name: agent}, backend="inline") as engine:
        if why is None:
            actions = run.agents[stored.agent].actions
            [why] = explain_episodes(engine, [stored.episode()], actions=actions)
        if why is None:
            raise UsageError(f"the actions of case {identifier} no longer end unsafe; {run.task_label} has changed")
        return ExplainedCase(
            stored=stored, explanation=why, close_up=close_up(run.task, agent, why, engine=engine), note=note
        )


def _agent(run: Run, name: str, trust: bool) -> tuple[Agent | None, str]:
    """The agent as it was tested; None, and why, where it cannot be had."""
    record = run.agents[name]
    settings = replace(record.settings, name=name)
    try:
        require_trust(run.folder.manifest_path, run.config.task, (settings,), trust=trust)
        agent = load_agents((settings,), run.task)[name]
    except (TightropeError, OSError) as error:
        return None, f"what {name} wanted is not told, because it could not be loaded: {error}"
    if agent.fingerprint != record.fingerprint:
        return None, f"what {name} wanted is not told, because its file is not the one that was tested"
    return agent, ""


def whole_way(run: Run, trace: ActionTrace, shown: Sequence[Instant]) -> list[Instant]:
    """Every moment of a trace from reset on, with what is known of what the agent wanted there."""
    wanted: Mapping[int, Preferences | None] = {instant.depth: instant.wanted for instant in shown}
    with run.engine(backend="inline") as engine:
        [[sights]] = engine.map(watch, [(Watch(trace=trace, first=0, observed_from=len(trace)),)])
    return [
        Instant(
            depth=sight.depth,
            action=sight.action,
            reward=sight.reward,
            values=tuple(sight.values.values()),
            wanted=wanted.get(sight.depth),
        )
        for sight in sights
    ]


def is_explainable(episode: Episode, stored: StoredCase) -> bool:
    """Whether it is the failing execution that explanations are about."""
    failing = stored.result.failing_episodes
    return bool(failing) and episode.rollout.seed == failing[0].rollout.seed
