"""Item 10: distinct avoidable failures for a thousand environment steps, by each way to look for them.

Every way gets the same number of steps, counted in the environments themselves: searching, probing, prefixes, replays
and all. Its failing episodes are then judged alike, which is not counted: the moment each was lost, whether somebody
survives from there after hand-over, and which are one (`tightrope.failures`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
from benchmarks.measuring import Figure

import tightrope as tr
from tightrope.failures import Disturbance, FoundFailure
from tightrope.failures.causes import one_of_each_cause
from tightrope.failures.moments import find_moments
from tightrope.seeding import derive_seed, generator

AGENTS = Path(__file__).parents[1] / "agents" / "gallery"
STEPS, QUICK_STEPS = 20_000, 2_000
MOST_JUDGED = 40
"""Failing episodes of one way that are judged; of more, drawn ones, and the rest in proportion."""
WATCH = 100
AIM = 5.0
OURS = ("boundary states, searched references", "boundary states, own runs", "failure search")

TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "cartpole": ("CartPole-v1", {}),
    "frozenlake": ("FrozenLake-v1", {}),
    "frozenlake, not slippery": ("FrozenLake-v1", {"is_slippery": False}),
    "lunarlander": ("LunarLander-v3", {}),
    "minigrid": ("MiniGrid-LavaCrossingS9N1-v0", {"observation": "image"}),
    "hopper": ("Hopper-v5", {}),
}


class Counted(gym.Wrapper[Any, Any, Any, Any]):
    """Counts every step that is made in any environment of the task."""

    steps = 0

    def step(self, action: Any) -> Any:
        """Count it."""
        Counted.steps += 1
        return self.env.step(action)


def _counted(make_env: Callable[[], Any]) -> Any:
    return Counted(make_env())


@dataclass
class Hunt:
    """One way to look for failures, and what it has found."""

    task: tr.Task
    agent: Any
    engine: tr.Engine
    steps: int
    failed: list[tr.Episode] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.begun = Counted.steps

    @property
    def spent(self) -> int:
        """Steps so far."""
        return Counted.steps - self.begun

    def play(self, starts: Iterator[tr.ActionTrace] | Sequence[tr.ActionTrace], length: int | None = WATCH) -> None:
        """Let the agent go on from these situations while steps last."""
        for start in starts:
            if self.spent >= self.steps:
                return
            seed = derive_seed("hunt", start.id)
            rollout = tr.Rollout(start=start, agent=self.agent.name, length=length, seed=seed, fixed_prefix=True)
            [episode] = self.engine.run([rollout])
            if episode.reached_handover and episode.outcome is tr.Outcome.UNSAFE:
                self.failed.append(episode)


def plain_episodes(hunt: Hunt) -> None:
    """From one reset after the other."""
    hunt.play((tr.ActionTrace(hunt.task.label, seed) for seed in range(10**6)), length=None)


def uniform_states(hunt: Hunt) -> None:
    """Of the agent's own runs and of searched ways."""
    references = tr.find_references(
        hunt.task, 4, [hunt.agent], tr.Budget(steps=hunt.steps // 4), probe=False, engine=hunt.engine
    )
    if references:
        cases = tr.uniform_suite(references, 400).cases
        hunt.play([cases[place].prefix for place in generator("uniform").permutation(len(cases))])


def random_prefixes(hunt: Hunt) -> None:
    """Of up to 40 actions."""
    hunt.play([case.prefix for case in tr.random_suite(hunt.task, 2_000).cases])


def searched_references(hunt: Hunt) -> None:
    """Boundary states of ways that searches found."""
    _boundary_states(hunt, [])


def own_runs(hunt: Hunt) -> None:
    """Boundary states of the agent's runs."""
    _boundary_states(hunt, [hunt.agent])


def _boundary_states(hunt: Hunt, agents: list[Any]) -> None:
    budget = tr.Budget(steps=hunt.steps // 2)
    references = tr.find_references(hunt.task, 4, agents, budget, engine=hunt.engine)
    if references:
        cases = tr.interval_suite(references, 1).cases
        hunt.play([cases[place].prefix for place in generator("boundary").permutation(len(cases))])


def failure_search(hunt: Hunt) -> None:
    """Small disturbances of the agent's runs."""
    found = tr.search_failures(
        hunt.task, hunt.agent, tr.Budget(steps=hunt.steps), length=WATCH, moments=False, engine=hunt.engine
    )
    hunt.failed += [failure.episode for failure in found.failures]


WAYS: dict[str, Callable[[Hunt], None]] = {
    "plain episodes": plain_episodes,
    "random prefixes": random_prefixes,
    "uniform states": uniform_states,
    OURS[0]: searched_references,
    OURS[1]: own_runs,
    OURS[2]: failure_search,
}


def figures(*, quick: bool) -> Iterator[Figure]:
    """Every way for every agent; the best of ours against plain episodes and uniform states."""
    for name, (task, options) in TASKS.items():
        for stage in ("early", "late"):
            path = AGENTS / f"{name.partition(',')[0]}-{stage}.onnx"
            if path.exists():
                yield from _hunts(f"{name}, {stage} agent", task, options, path, QUICK_STEPS if quick else STEPS)


def _hunts(name: str, task_name: str, options: dict[str, Any], path: Path, steps: int) -> Iterator[Figure]:
    task = tr.make_task(task_name, **options)
    task = replace(task, make_env=partial(_counted, task.make_env))
    agent = tr.load_agent(path, task)
    rates = {}
    for way, look in WAYS.items():
        with tr.Engine(task, {agent.name: agent}) as engine:
            hunt = Hunt(task, agent, engine, steps)
            look(hunt)
            spent = hunt.spent
            distinct, share = _distinct(engine, agent.name, hunt.failed)
        rates[way] = 1000 * distinct * share / max(spent, 1)
        note = f"{len(hunt.failed)} failing episodes in {spent} steps, {distinct} distinct avoidable among those judged"
        yield Figure(item=10, name=f"{name}: {way}", value=rates[way], unit="per 1000 steps", note=note)
    best = max(OURS, key=lambda way: rates[way])
    plain, uniform = rates["plain episodes"], rates["uniform states"]
    if plain == 0:
        value, met = None, (rates[best] > 0 if "late" in name else None)
        note = f"plain episodes find none, {best}: {rates[best]:.2g}"
    else:
        value, note = rates[best] / plain, f"best of ours: {best}"
        met = value >= AIM and rates[best] >= uniform if "late" in name else None
    yield Figure(
        item=10,
        name=f"{name}: best of ours against plain",
        value=value,
        unit="×",
        aim=f"≥ {AIM:g} ×",
        met=met,
        note=note,
    )


def _distinct(engine: tr.Engine, agent: str, failed: list[tr.Episode]) -> tuple[int, float]:
    """Distinct avoidable failures among those judged, and how many there are for each judged one."""
    if not failed:
        return 0, 1.0
    chosen = failed
    if len(failed) > MOST_JUDGED:
        places = sorted(generator("judged").choice(len(failed), size=MOST_JUDGED, replace=False))
        chosen = [failed[place] for place in places]
    found = []
    for episode in chosen:
        [moment], _ = find_moments(engine, [episode], [agent])
        start = Disturbance(reset=episode.trace.seed, depth=0)
        found.append(FoundFailure(episode=episode, disturbance=start, moment=moment, looked=True))
    return sum(bool(each.avoidable) for each in one_of_each_cause(found)), len(failed) / len(chosen)
