"""How a command ends: one sentence that says what came of it, and the command to type next."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tightrope.cli.output.interface import Interface
from tightrope.settings import AgentConfig

if TYPE_CHECKING:
    from tightrope.evaluation import Evaluation
    from tightrope.report import RunResults
    from tightrope.report.headline import Headline
    from tightrope.runs.configuration.config import CampaignConfig
    from tightrope.runs.gates import Gate
    from tightrope.runs.run import Run
    from tightrope.safety import FailureGroup, SafetyResult
    from tightrope.tasks import Task

MARKS = {True: "✓", False: "✗", None: "?"}
GATES_ONLY = "!"
"""The gates passed, of an agent that never reaches the goal, or that fails where no gate looks."""


def print_ending(
    interface: Interface,
    task: Task,
    plain: Mapping[str, Evaluation],
    safety: Mapping[str, Mapping[str, SafetyResult]],
    gates: Sequence[Gate],
    run: Run | None,
) -> None:
    """The report's own first sentence, and how to watch the worst of it; ``run``: the folder, if there is one."""
    from tightrope.report import AgentInfo, RunResults
    from tightrope.report.headline import headline
    from tightrope.runs.storage.layout import CONTROLS

    agents = dict.fromkeys([*plain, *(agent for row in safety.values() for agent in row)])
    shown = RunResults(
        name="", task=task, agents=tuple(AgentInfo(name=agent) for agent in agents), plain=plain, safety=safety,
        controls=CONTROLS, gates=tuple(gates),
    )  # fmt: skip
    said = headline(shown)
    interface.say(f"{_mark(shown, said)} {said.sentence}")
    if run is not None:
        groups = shown.groups.get(said.agent or "", ())
        interface.remark(_next(run, groups, said.agent))
        if not groups and run.config.agents:
            interface.remark(f"Look further, near its own runs: {failures_command(run.config)}")


def _mark(shown: RunResults, said: Headline) -> str:
    """Whether the gates passed, and without gates whether nobody fails; a tick never stands before a failure."""
    from tightrope.report.headline import unjudged_agents
    from tightrope.report.verdict import not_gated, stays_away

    away = any(stays_away(plain) for plain in shown.plain.values())
    if shown.gates:
        only = away or any(not_gated(shown, agent.name) for agent in shown.agents)
        return GATES_ONLY if said.passed and only else MARKS[said.passed]
    unsafe = any(plain.unsafe_rate.value for plain in shown.plain.values())
    if said.agent is None:
        # Who fails without being put anywhere is judged; that nobody was seen to fail says nothing here.
        return MARKS[False if unsafe else None]
    if away or unsafe or any(group.fails for groups in shown.groups.values() for group in groups):
        return MARKS[False]
    return MARKS[None if unjudged_agents(shown) else True]


def failures_command(config: CampaignConfig) -> str:
    """What to type to search for failures of the agents of a campaign that its suites have not shown."""
    words = ["tightrope", "failures", config.task]
    for name, value in config.options.items():
        words += ["--set", f"{name}={json.dumps(value)}"]
    for agent in config.agents:
        words += ["--agent", agent.source]
    first = config.agents[0]
    words += [] if first.behaviour == AgentConfig.behaviour else ["--behaviour", first.behaviour]
    words += ["--epsilon", f"{first.epsilon:g}"] if first.epsilon else []
    words += ["--trust"] if any(agent.trust for agent in config.agents) else []
    return shlex.join(words)


def _next(run: Run, groups: Sequence[FailureGroup], agent: str | None) -> str:
    """What to type to watch the agent's main failure; where there is none, to look at all of it."""
    from tightrope.runs.questions.reasons import case_command

    if not groups or agent is None:
        return f"Look at it: {shlex.join(['tightrope', 'view', str(run.path)])}"
    return f"Watch: {case_command('replay', run, groups[0].representative.case.id[:8], agent)}"
