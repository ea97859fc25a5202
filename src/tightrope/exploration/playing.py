"""Playing an action trace from reset."""

from __future__ import annotations

from typing import Any

from tightrope.errors import NotReproducible
from tightrope.outcome import Outcome
from tightrope.simulation import Reseed, Simulator, play
from tightrope.tasks.task import Transition
from tightrope.trace import ActionTrace, Step, Trace


def replay(simulator: Simulator, actions: ActionTrace) -> Trace:
    """Play the actions from reset with the randomness they were found with; ends early at a terminal situation."""
    moments = play(simulator, actions)
    next(moments)
    start_key = simulator.key()
    steps = (Step(moment.action, moment.reward, simulator.key(), moment.outcome) for moment in moments)  # type: ignore[arg-type]
    return Trace(start_key, tuple(steps))


def replay_to_goal(simulator: Simulator, actions: ActionTrace) -> Trace:
    """Play a trace that was found to reach the goal with its last action; raises NotReproducible when it does not."""
    trace = replay(simulator, actions)
    if trace.outcome is not Outcome.GOAL or len(trace) != len(actions):
        raise NotReproducible(
            f"task {actions.task}: a way to the goal of {len(actions)} actions was found, but played from reset it "
            f"stands at {str(trace.outcome)!r} after {len(trace)}. Run tightrope.check_task(task) to see what the "
            f"environment does not restore"
        )
    return trace


def paid_replays(simulator: Simulator) -> int:
    """Steps replayed so far where nothing can be saved; elsewhere they hang on how much memory there is: no count."""
    return simulator.counters.replayed_steps if simulator.snapshotter is None else 0


def action_trace(simulator: Simulator) -> ActionTrace:
    """How the simulator's present situation was reached."""
    seed, *events = simulator.events()
    actions: list[Any] = []
    reseeds: dict[int, int] = {}
    for event in events:
        if isinstance(event, Reseed):
            reseeds[len(actions)] = event.seed
        else:
            actions.append(event)
    return ActionTrace(simulator.task.label, seed, tuple(actions), tuple(reseeds.items()))


def timeout_is_unsafe(simulator: Simulator) -> bool:
    """Whether the task would call it unsafe if time were up in this situation; also where it cannot say."""
    seen = simulator.transition
    info = {**seen.info, "TimeLimit.truncated": True}
    try:
        return bool(simulator.task.unsafe(Transition(seen.observation, seen.reward, False, True, info)))
    except Exception:  # a predicate that reads what only a real time-out brings
        return True
