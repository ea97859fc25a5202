"""References that are given: by a person, a file, or an agent that happens to solve the task."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from tightrope.agents.agent import Agent
from tightrope.errors import UsageError
from tightrope.execution import Engine, Rollout, borrowed_engine
from tightrope.outcome import Outcome
from tightrope.search.situations import replay
from tightrope.seeding import derive_seed
from tightrope.simulation import Simulator
from tightrope.tasks.spaces import encode_action
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace
from tightrope.tracefiles import read_traces


def demonstrate(
    task: Task,
    agent: Agent,
    *,
    episodes: int = 10,
    length: int | None = None,
    seed: int = 0,
    engine: Engine | None = None,
    backend: str = "inline",
    workers: int | None = None,
) -> ActionTrace | None:
    """Let an agent play; the shortest of its episodes that reach the goal, or None when none does."""
    start = ActionTrace(task.label, task.seed)
    rollouts = [
        Rollout(start=start, agent=agent.name, length=length, seed=derive_seed("demonstrate", seed, episode))
        for episode in range(episodes)
    ]
    with borrowed_engine(task, {agent.name: agent}, engine, backend, workers) as engine:
        solved = [episode.trace for episode in engine.run(rollouts) if episode.outcome is Outcome.GOAL]
    return min(solved, key=len, default=None)


def checked_demonstration(
    simulator: Simulator, demonstration: ActionTrace | Sequence[Action] | str | PathLike[str]
) -> ActionTrace:
    """The demonstration up to the goal; raises UsageError when it does not get there."""
    given = _as_trace(simulator, demonstration)
    trace = replay(simulator, given)
    if trace.outcome is not Outcome.GOAL:
        ended = {Outcome.UNSAFE: "becomes unsafe", Outcome.TRUNCATED: "ends short of the goal"}
        raise UsageError(
            f"the demonstration must reach the goal of task {given.task}, but it "
            f"{ended.get(trace.outcome, 'is still under way')} after {len(trace)} of its {len(given)} actions; give "
            f"one recorded on this very task from reset seed {given.seed}"
        )
    return given.prefix(len(trace))


def _as_trace(simulator: Simulator, demonstration: ActionTrace | Sequence[Action] | str | PathLike[str]) -> ActionTrace:
    task = simulator.task
    if isinstance(demonstration, (str, PathLike)):
        demonstration = _only_trace(Path(demonstration), task)
    if not isinstance(demonstration, ActionTrace):
        actions = tuple(encode_action(simulator.env.action_space, action) for action in demonstration)
        return ActionTrace(task.label, task.seed, actions)
    if demonstration.task != task.label:
        raise UsageError(
            f"the demonstration was recorded on task {demonstration.task!r}, not {task.label!r}; give its plain "
            f"actions (trace.actions) if they mean the same on both"
        )
    return demonstration


def _only_trace(path: Path, task: Task) -> ActionTrace:
    traces = [trace for trace in read_traces(path) if trace.task == task.label]
    if not traces:
        raise UsageError(f"{path.name} holds no trace of task {task.label!r}")
    return traces[0]
