"""References that are given: by a person, a file, or an agent that happens to solve the task."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from tightrope.agents.agent import Agent
from tightrope.errors import UsageError
from tightrope.execution import Engine, Rollout, begun_again_if_stochastic, borrowed_engine
from tightrope.exploration.playing import replay
from tightrope.outcome import Outcome
from tightrope.references.minari import minari_traces
from tightrope.seeding import derive_seed
from tightrope.settings import LIBRARY_BACKEND, BackendName, Count, require
from tightrope.simulation import Simulator
from tightrope.tasks.spaces import encode_action
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace
from tightrope.tracefiles import read_traces

MINARI = "minari:"

DemonstrationSource: TypeAlias = ActionTrace | Sequence[Action] | str | PathLike[str]
"""A trace, its actions, the name of a file of traces, or ``"minari:"`` and a data set's name or folder."""


@begun_again_if_stochastic
def demonstrate(
    task: Task,
    agent: Agent,
    *,
    episodes: int = 10,
    length: int | None = None,
    seed: int = 0,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
) -> ActionTrace | None:
    """Let an agent play; the shortest of its episodes that reach the goal, or None when none does.

    Args:
        task: The task to be solved.
        agent: The agent that plays.
        episodes: How many to play.
        length: Longest episode; None: until it ends.
        seed: Determines everything random.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
    """
    require("episodes", episodes, Count)
    require("length", length, Count | None, "; None watches until the episode ends")
    start = ActionTrace(task.label, task.seed)
    rollouts = [
        Rollout(start=start, agent=agent.name, length=length, seed=derive_seed("demonstrate", seed, episode))
        for episode in range(episodes)
    ]
    with borrowed_engine(task, {agent.name: agent}, engine, backend, workers) as engine:
        solved = [episode.trace for episode in engine.run(rollouts) if episode.outcome is Outcome.GOAL]
    return min(solved, key=len, default=None)


def checked_demonstration(simulator: Simulator, demonstration: DemonstrationSource) -> ActionTrace:
    """The demonstration up to the goal; of several, the first that gets there. Raises UsageError when none does."""
    candidates = _candidates(simulator, demonstration)
    traces = []
    for given in candidates:
        traces.append(replay(simulator, given))
        if traces[-1].outcome is Outcome.GOAL:
            return given.prefix(len(traces[-1]))
    given, trace = candidates[0], traces[0]
    ended = {Outcome.UNSAFE: "becomes unsafe", Outcome.TRUNCATED: "ends short of the goal"}
    raise UsageError(
        f"the demonstration must reach the goal of task {given.task}, but it "
        f"{ended.get(trace.outcome, 'is still under way')} after {len(trace)} of its {len(given)} actions"
        f"{f' (and {len(candidates) - 1} more do not either)' if len(candidates) > 1 else ''}; give one recorded on "
        f"this very task from reset seed {given.seed}"
    )


def _candidates(simulator: Simulator, demonstration: DemonstrationSource) -> list[ActionTrace]:
    task = simulator.task
    if isinstance(demonstration, (str, PathLike)):
        return _stored(str(demonstration), task)
    if not isinstance(demonstration, ActionTrace):
        actions = tuple(encode_action(simulator.env.action_space, action) for action in demonstration)
        return [ActionTrace(task.label, task.seed, actions)]
    if demonstration.task != task.label:
        raise UsageError(
            f"the demonstration was recorded on task {demonstration.task!r}, not {task.label!r}; give its plain "
            f"actions (trace.actions) if they mean the same on both"
        )
    return [demonstration]


def _stored(source: str, task: Task) -> list[ActionTrace]:
    if source.startswith(MINARI):
        return minari_traces(source.removeprefix(MINARI), task)
    traces = [trace for trace in read_traces(source) if trace.task == task.label]
    if not traces:
        raise UsageError(f"{Path(source).name} holds no trace of task {task.label!r}")
    return traces
