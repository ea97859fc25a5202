"""What the agent would have done while it was disturbed: how likely a disturbance is hangs on that.

It steers against what is done to it, so that it answers otherwise than in the run that nobody disturbed. The way to the
end of the disturbance is played once more, and the agent is shown what there was to see.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.budget import Meter
from tightrope.execution import Engine
from tightrope.failures.likelihood import log_likelihood
from tightrope.failures.result import Disturbance, FoundFailure
from tightrope.guards.faults import require_fault
from tightrope.simulation import open_simulator, play
from tightrope.tasks.observations import own_copy, shown_mask
from tightrope.tasks.spaces import encode_action
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace


@dataclass(frozen=True)
class Showing:
    """Work for one worker: what there was to see on the way."""

    way: ActionTrace
    first: int
    """From so many steps on."""


@dataclass(frozen=True)
class Sights:
    """What came of it."""

    sights: tuple[tuple[Any, Any], ...]
    """Observations and masks."""
    steps: int


def with_answers(engine: Engine, agent: Agent, found: Sequence[FoundFailure], meter: Meter) -> list[FoundFailure]:
    """The failures, each disturbance compared with what the agent answers meanwhile, while steps last."""
    if not agent.deterministic:
        return [*found]
    return [each if meter.spent else _asked(engine, agent, each, meter) for each in found]


def _asked(engine: Engine, agent: Agent, found: FoundFailure, meter: Meter) -> FoundFailure:
    parts = [part for part in found.disturbance.parts if part.is_action]
    if all(part.asked for part in parts):
        return found
    # A recurrent agent has to see all that came before.
    first = 0 if agent.recurrent else min(part.depth for part in parts)
    last = max(part.depth + part.steps for part in parts)
    [seen] = engine.map(show, [Showing(found.trace.prefix(last), first)])
    meter.spend(seen.steps)
    try:
        answers = _answers(agent, engine.task, seen.sights)
    except BaseException as error:
        require_fault(error)
        return found
    return replace(found, disturbance=_compared(engine.task, found.disturbance, found.trace.actions, answers, first))


def _answers(agent: Agent, task: Task, sights: Sequence[tuple[Any, Any]]) -> list[Action]:
    answers, memory = list[Action](), None
    for observation, mask in sights:
        answer = agent.act([observation], [memory], [None], [mask])
        memory = answer.memories[0]
        answers.append(encode_action(task.action_space, answer.actions[0]))
    return answers


def _compared(
    task: Task, told: Disturbance, played: Sequence[Action], answers: Sequence[Action], first: int
) -> Disturbance:
    """It and all before it, as likely as they are where the agent answers so from a step on."""
    earlier = None if told.earlier is None else _compared(task, told.earlier, played, answers, first)
    if not told.is_action:
        return replace(told, earlier=earlier)
    until = told.depth + told.steps
    own = answers[told.depth - first : until - first]
    likely = log_likelihood(task, played[told.depth : until], own)
    return replace(told, earlier=earlier, log_likelihood=likely, asked=True)


def show(task: Task, work: Showing) -> Sights:
    """Play the way and keep what there was to see."""
    with closing(open_simulator(task)) as simulator:
        sights = [
            # Drawn now where it is drawn only when looked at: it travels, and the environment goes on.
            (own_copy(simulator.observation), own_copy(shown_mask(simulator.info or {})))
            for moment in play(simulator, work.way)
            if moment.depth >= work.first and moment.upcoming is not None
        ]
        return Sights(tuple(sights), simulator.counters.steps + simulator.counters.replayed_steps)
