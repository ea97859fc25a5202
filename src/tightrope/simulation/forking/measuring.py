"""Whether an environment that must be replayed is worth forking, and whether that is exact."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

from tightrope.guards.faults import misdeed
from tightrope.simulation.forking.environment import ForkCosts, ForkedEnv
from tightrope.simulation.forking.family import end_processes, family_of
from tightrope.simulation.forking.process import Branch
from tightrope.simulation.forking.serving import RESET, STEP
from tightrope.simulation.player import play
from tightrope.simulation.simulator import Simulator
from tightrope.tasks.keys import freeze
from tightrope.tasks.spaces import action_decoder
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

QUICK = 2000
"""Steps per second of an environment that is not even looked at: a question to another process takes half as long."""
TYPICAL_STEPS = 100
"""Steps before a situation, and as many after it."""
GAIN = 3.0
"""How many times cheaper coming back must be. Below, it would hang on the machine and its load, and gain little: what
follows in the situation is played one way or the other."""
MOST_WALKS = 2
STEPS_TIMED = 5
SECONDS_TO_TRY = 30.0
LONG_ENOUGH = 30
"""Steps of a walk on which leaps are tried; the check's own are shorter where steps are slow."""


@dataclass(frozen=True, kw_only=True)
class Forking:
    """What was found out about forking a task's environments."""

    costs: ForkCosts | None
    """None: they are not forked."""
    note: str
    """In words, for whoever looks at the check; empty where there is nothing to say."""


NOT_WORTH_IT = Forking(costs=None, note="")


def examine_forking(task: Task, walks: Sequence[tuple[int, Sequence[Action]]], steps_per_second: float) -> Forking:
    """Whether a task that is put back by replay is put back by forks; ``walks`` are reset seeds and actions."""
    if sys.platform != "linux" or task.one_per_process or steps_per_second > QUICK:
        return NOT_WORTH_IT
    walks = [(seed, [*islice(cycle(actions), LONG_ENOUGH)]) for seed, actions in walks]
    try:
        # A copy may wait for ever for something that its original has, such as a thread or another process.
        family_of(task).patience = SECONDS_TO_TRY
        costs = measure_forking(task, *walks[0])
        if not pays(costs):
            end_processes(task)
            return NOT_WORTH_IT
        difference = _first_difference(task, costs, walks[:MOST_WALKS])
        family_of(task).patience = None
    except BaseException as error:
        difference = misdeed(error)
    if difference:
        end_processes(task)
        return Forking(costs=None, note=f"processes with the environment cannot be forked: {difference}")
    return Forking(
        costs=costs,
        note=f"a replay is cut short by forking a process, which takes {1e3 * costs.fork:.1f} ms; a step takes "
        f"{1e3 * costs.step:.1f} ms",
    )


def pays(costs: ForkCosts) -> bool:
    """Whether steps are slow, and forks cut the cost of coming back to a typical situation, and going on, by far."""
    if costs.step * QUICK < 1:
        # What the check saw is wall time: on a busy machine every environment looks slow.
        return False
    replayed = costs.reset + TYPICAL_STEPS * costs.step
    return replayed >= GAIN * (costs.fork + TYPICAL_STEPS * costs.ask)


def measure_forking(task: Task, seed: int, actions: Sequence[Action]) -> ForkCosts:
    """Each the least of a few: whatever else runs on the machine only adds."""
    with closing(family_of(task).copy_before(())[0]) as branch:
        decode = action_decoder(branch.ask("describe")["action_space"])
        resets, steps = [], []
        for _ in range(2):
            resets.append(branch.ask("play", [(RESET, seed)])[1])
            steps += [branch.ask("play", [(STEP, decode(action))])[1] for action in actions[:STEPS_TIMED]]
        playing = min(resets) + min(steps)
        forks = [_seconds_to_fork(branch, seed, decode(actions[0])) - playing for _ in range(3)]
        asks = [_seconds_to_ask(branch) for _ in range(20)]
    return ForkCosts(min(resets), min(steps), max(0.0, min(forks)), min(asks))


def _seconds_to_fork(branch: Branch, seed: int, action: Any) -> float:
    """Of both processes, with a reset and a step of the copy, in which it comes to its own memory."""
    copy, forking = branch.fork()
    with closing(copy):
        copy.ask("play", [(RESET, seed), (STEP, action)])
        return forking + float(copy.ask("spent"))


def _seconds_to_ask(branch: Branch) -> float:
    """Twice what this side takes, which is what both take together."""
    started = time.process_time()
    branch.ask("ping")
    return 2 * (time.process_time() - started)


def _first_difference(task: Task, costs: ForkCosts, walks: Sequence[tuple[int, Sequence[Action]]]) -> str:
    """Walks in one process against the same ones after leaps to places on them, in another order."""
    env = task.open_env()
    try:
        here = Simulator(task, env, None)
        expected = [_seen(here, seed, actions) for seed, actions in walks]
    finally:
        env.close()
    # As if forks were free, so that copies are kept wherever they could be later.
    there = Simulator(task, ForkedEnv(task, costs._replace(fork=0.0)), None)
    try:
        for (seed, actions), seen in zip(walks, expected, strict=True):
            if found := _leaps_differ(there, seed, actions, seen):
                return found
    finally:
        there.close()
    return ""


def _leaps_differ(there: Simulator, seed: int, actions: Sequence[Action], expected: Sequence[Any]) -> str:
    last = len(expected) - 1
    for start in (last // 2, 0, max(0, last - 1), last // 2, last // 3):
        for step in range(start, last + 1):
            if step == start:
                there.leap(seed, actions[:step])
            else:
                there.step(actions[step - 1])
            if _facts(there) != expected[step]:
                return f"after a leap to step {start}, step {step} differs"
    return ""


def _seen(simulator: Simulator, seed: int, actions: Sequence[Action]) -> list[Any]:
    return [_facts(simulator) for _ in play(simulator, ActionTrace(simulator.task.label, seed, tuple(actions)))]


def _facts(simulator: Simulator) -> tuple[Any, ...]:
    transition = simulator.transition
    return freeze(transition.observation), repr(transition.reward), simulator.outcome, simulator.key()
