"""Several references: other starts, other searches, and the runs of agents.

A suite on one reference stands on one way through the task that a search happened to find. References that differ are
what "in situations like these" is measured over.
"""

from __future__ import annotations

from collections.abc import Sequence

from tightrope.agents.agent import Agent
from tightrope.budget import Budget
from tightrope.errors import UsageError
from tightrope.execution import Engine, begun_again_if_stochastic, borrowed_engine
from tightrope.progress import ProgressCallback
from tightrope.reference import Reference
from tightrope.references.gathering import Gathering
from tightrope.references.ways import Ways, with_noise
from tightrope.settings import FINDING_STEPS, LIBRARY_BACKEND, BackendName, Count, SearchConfig, require
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace


def find_references(
    task: Task,
    count: int = SearchConfig.references,
    agents: Sequence[Agent] = (),
    budget: Budget | None = None,
    seed: int = 0,
    *,
    demonstrations: Sequence[ActionTrace] = (),
    known: Sequence[Reference] = (),
    reset_seeds: int | None = None,
    probe: bool = True,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> tuple[Reference, ...]:
    """Up to ``count`` references that differ, each with its boundary states.

    In turn: given traces, runs of the agents that reach the goal (from many reset seeds, as they are and with a little
    noise), and searches from other reset seeds, with other seeds and orders of the actions. Where no way reaches the
    goal, the agents' longest runs serve, as their ``trace.outcome`` says. Where probing finds boundary states on too
    few of them, the agents take over on those that a search found, and the last moment from which one fails is a
    boundary state; runs in which an agent fails, by itself or after a small disturbance, serve up to before the
    harm, with the moment that it was lost as boundary state (both are ``by_failing``); and the places that are left go
    to near misses: moments of good runs at which an agent came closest to failing (``near_miss``).

    Args:
        task: The task to be solved.
        count: How many are wanted; fewer come back when the budget does not reach for more, or no more differ.
        agents: Whose runs to take: the tested ones and any others at hand.
        budget: What all of it may cost; default: 200,000 steps.
        seed: Determines everything random.
        demonstrations: Traces that reach the goal, fuzz traces or recorded ones; those that do not are left out.
        known: References at hand, which come first and from which the others are to differ.
        reset_seeds: From how many resets to begin, the task's own first; default: as many as references are wanted.
        probe: Whether to look for boundary states, with three fifths of the budget.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    found, _ = gather_references(
        task,
        count,
        agents,
        budget,
        seed,
        demonstrations=demonstrations,
        known=known,
        reset_seeds=reset_seeds,
        probe=probe,
        engine=engine,
        backend=backend,
        workers=workers,
        on_progress=on_progress,
    )
    return found


@begun_again_if_stochastic
def gather_references(
    task: Task,
    count: int,
    agents: Sequence[Agent],
    budget: Budget | None,
    seed: int,
    *,
    demonstrations: Sequence[ActionTrace] = (),
    known: Sequence[Reference] = (),
    reset_seeds: int | None = None,
    probe: bool = True,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> tuple[tuple[Reference, ...], int]:
    """What ``find_references`` gives, and the steps that all of it took."""
    require("count", count, Count)
    require("reset_seeds", reset_seeds, Count | None)
    _require_of_task(task, demonstrations, known)
    noisy = with_noise(task, agents)
    with borrowed_engine(task, {agent.name: agent for agent in (*agents, *noisy)}, engine, backend, workers) as runner:
        ways = Ways(task, count, seed, runner, reset_seeds or count, list(known), on_progress)
        gathering = Gathering(ways, (budget or Budget(steps=FINDING_STEPS)).start(), [agent.name for agent in agents])
        found = gathering.gather([agent.name for agent in noisy], demonstrations, probe)
        return tuple(found), gathering.meter.steps


def _require_of_task(task: Task, demonstrations: Sequence[ActionTrace], known: Sequence[Reference]) -> None:
    """Refuse what is of another task, or no trace or reference at all."""
    for name, given, kind in (("demonstrations", demonstrations, ActionTrace), ("known", known, Reference)):
        wrong = next((each for each in given if not isinstance(each, kind)), None)
        if wrong is not None:
            raise UsageError(
                f"{name} takes {kind.__name__}s, not {type(wrong).__name__}; reference.actions is an ActionTrace"
            )
    for one in (*demonstrations, *(reference.actions for reference in known)):
        if one.task != task.label:
            raise UsageError(
                f"a demonstration or a known reference is of task {one.task!r}, not {task.label!r}; leave it out"
            )
