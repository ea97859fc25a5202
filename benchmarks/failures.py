"""Item 10: distinct avoidable failures for a thousand environment steps, by each way to look for them.

Every way gets the same number of steps, counted in the environments themselves: searching, probing, prefixes, replays
and all. Its failing episodes are then judged alike, which is not counted: the moment each was lost, whether somebody
survives from there after hand-over, and which are one (`tightrope.failures`).

    python -m benchmarks.failures --steps 12000 --seeds 3 --tasks CartPole Hopper --keep hunts.jsonl

adds one line for every hunt to the file, skips those it has, and prints the table of ``docs/failures.md``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from benchmarks.hunting import OURS, PLAIN, UNIFORM, WATCH, WAYS, Hunt, counted
from benchmarks.measuring import Figure

import tightrope as tr
from tightrope.failures import Disturbance, FoundFailure
from tightrope.failures.causes import one_of_each_cause
from tightrope.failures.moments import find_moments
from tightrope.seeding import derive_seed, generator
from tightrope.simulation import fresh_seeds_of
from tightrope.simulation.fresh_seeds import UNTIL_TRUSTED

AGENTS = Path(__file__).parents[1] / "agents"
STEPS, QUICK_STEPS = 12_000, 2_000
SEEDS = 3
STAGES = ("late", "early")
"""In this order: what a late agent's failures take is what the aim is about."""
AIM = 5.0
TOO_MANY = 1.2
"""Times the steps that a hunt was given: one that took more is no match for the others."""
MOST_NUMBERS = 64
"""mdpfuzz models what it has seen by mixtures of normal distributions: of more numbers than these it does not end."""


@dataclass(frozen=True)
class Place:
    """A task and its two agents."""

    task: str
    agents: str
    """The file of each, with ``{}`` for early or late."""
    options: Mapping[str, Any] = field(default_factory=dict)
    share: float = 1.0
    """Of the steps that other tasks get: where a step takes a millisecond or more."""
    judged: int = 24
    """Failing episodes of one hunt that are judged; of more, drawn ones, from which the rest is estimated."""
    effort: float = math.inf
    """Steps for judging one of them."""


TASKS: dict[str, Place] = {
    "CartPole": Place("CartPole-v1", "gallery/cartpole-{}.onnx"),
    "FrozenLake, slippery": Place("FrozenLake-v1", "gallery/frozenlake-{}.onnx", judged=100),
    "FrozenLake, not slippery": Place(
        "FrozenLake-v1", "gallery/frozenlake-{}.onnx", {"is_slippery": False}, judged=100
    ),
    "LunarLander": Place("LunarLander-v3", "gallery/lunarlander-{}.onnx"),
    "MiniGrid": Place("MiniGrid-LavaCrossingS9N1-v0", "gallery/minigrid-{}.onnx", {"observation": "image"}),
    "Hopper": Place("Hopper-v5", "gallery/hopper-{}.onnx"),
    "Freeway": Place("ALE/Freeway-v5", "gallery/freeway-{}.onnx", {"obs_type": "ram"}, 0.5, 16),
    "highway": Place("highway-fast-v0", "gallery/highway-{}.onnx", share=0.12, judged=6, effort=600),
    "Mario 1-1": Place("mario", "mario/1-1-dense-2-moves-{}.onnx", {"level": "1-1"}, judged=8),
}


@dataclass(frozen=True, kw_only=True)
class Bag:
    """What one hunt brought home."""

    place: str
    stage: str
    way: str
    seed: int
    asked: int
    """Steps that it was given: what ends early has found no more in all of them."""
    steps: int
    """Steps that it took."""
    failed: int
    judged: int
    avoidable: int
    """Of those judged."""
    distinct: int
    """Causes of those that were avoidable."""

    @property
    def name(self) -> tuple[str, str, str, int]:
        """Which hunt it was."""
        return self.place, self.stage, self.way, self.seed

    @property
    def rate(self) -> float:
        """Distinct avoidable failures per 1000 steps; those that were not judged are taken to be like the others."""
        everything = self.avoidable * self.failed / max(self.judged, 1)
        return 1000 * expected_causes(self.avoidable, self.distinct, everything) / max(self.steps, self.asked)


def hunts(
    places: Sequence[str],
    ways: Sequence[str],
    steps: int,
    seeds: Sequence[int],
    known: Sequence[Bag] = (),
    stages: Sequence[str] = STAGES,
) -> Iterator[Bag]:
    """Every hunt that is not known yet, the ways of one agent after each other."""
    have = {bag.name for bag in known}
    for stage in stages:
        for seed in seeds:
            for name in places:
                path = AGENTS / TASKS[name].agents.format(stage)
                asked = [way for way in ways if (name, stage, way, seed) not in have]
                if asked and path.exists():
                    yield from _hunts(name, stage, path, asked, int(steps * TASKS[name].share), seed)


def _hunts(name: str, stage: str, path: Path, ways: Sequence[str], steps: int, seed: int) -> Iterator[Bag]:
    place = TASKS[name]
    task = tr.make_task(place.task, **place.options)
    task = replace(task, make_env=partial(counted, task.make_env))
    agent = tr.load_agent(path, task)
    # Those who may show that a failure was avoidable; ways to look for failures know the tested one alone.
    others = path.parent.glob(f"{path.stem.rpartition('-')[0]}-*.onnx")
    judges = [agent, *(tr.load_agent(other, task) for other in sorted(others) if other != path)]
    _settle(task, agent)
    for way in ways:
        if way == "mdpfuzz" and not (importlib.util.find_spec("mdpfuzz") and _few_numbers(task)):
            continue
        failed, spent = _hunted(way, task, agent, steps, seed)
        with tr.Engine(task, {each.name: each for each in judges}) as engine:
            judged, avoidable, distinct = _judged(engine, failed, place)
        yield Bag(
            place=name,
            stage=stage,
            way=way,
            seed=seed,
            asked=steps,
            steps=spent,
            failed=len(failed),
            judged=judged,
            avoidable=avoidable,
            distinct=distinct,
        )


def _hunted(way: str, task: tr.Task, agent: Any, steps: int, seed: int) -> tuple[list[tr.Episode], int]:
    """The failing episodes of one hunt, and the steps it took: not many more than it was given.

    What comes on top of a budget is known only afterwards; where it is much, the hunt is begun again with less.
    """
    given = steps
    while True:
        with tr.Engine(task, {agent.name: agent}) as engine:
            hunt = Hunt(task, agent, engine, given, seed)
            WAYS[way](hunt)
            spent = hunt.spent
        if spent <= TOO_MANY * steps:
            return hunt.failed, spent
        given = int(given * steps / spent)


def _settle(task: tr.Task, agent: Any) -> None:
    """See whether random numbers that are drawn matter: found out once for a task, as how to save it is, for all ways.

    On a lake that is not slippery this takes more steps than a hunt, and would be paid by the first of them.
    """
    doubts = fresh_seeds_of(task)
    with tr.Engine(task, {agent.name: agent}) as engine:
        for number in range(UNTIL_TRUSTED):
            cases = tr.random_suite(task, 4, derive_seed("settle", number)).cases
            engine.run([tr.Rollout(start=case.prefix, agent=agent.name, length=WATCH) for case in cases])
            if not engine.deterministic or not doubts.agreed or doubts.agreed >= UNTIL_TRUSTED:
                return


def _few_numbers(task: tr.Task) -> bool:
    space = task.observation_space
    return isinstance(space, gym.spaces.Discrete) or int(np.prod(space.shape or (MOST_NUMBERS + 1,))) <= MOST_NUMBERS


def _judged(engine: tr.Engine, failed: list[tr.Episode], asked: Place) -> tuple[int, int, int]:
    """How many failing episodes were judged, how many of them were avoidable, and by how many causes."""
    found: list[FoundFailure] = []
    for place in generator("judged").permutation(len(failed))[: asked.judged]:
        [moment], _ = find_moments(engine, [failed[place]], [*engine.agents], limit=asked.effort)
        start = Disturbance(reset=failed[place].trace.seed, depth=0)
        found.append(FoundFailure(episode=failed[place], disturbance=start, moment=moment, looked=True))
    causes = sum(bool(each.avoidable) for each in one_of_each_cause(found))
    return len(found), sum(bool(each.avoidable) for each in found), causes


def expected_causes(drawn: int, causes: int, everything: float) -> float:
    """Causes among so many failures where so many drawn ones had ``causes``, were all causes equally likely.

    Where no two of the drawn ones share one, there are as many as failures; in a small world there are few, however
    many failures were found.
    """
    if causes == drawn or everything <= drawn:
        return causes * max(1.0, everything / max(drawn, 1)) if causes == drawn else float(causes)
    low, high = float(causes), 1e6
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _met(middle, drawn) < causes else (low, middle)
    return _met(high, everything)


def _met(causes: float, draws: float) -> float:
    return causes * -math.expm1(draws * math.log1p(-1 / max(causes, 1 + 1e-9)))


def figures(*, quick: bool, long: bool = False) -> Iterator[Figure]:
    """Every way for every agent; the best of ours against plain episodes and uniform states.

    Unless it is ``long``, for one seed and for late agents alone, on tasks whose steps are cheap.
    """
    seeds, stages = (range(SEEDS), STAGES) if long else ((0,), STAGES[:1])
    for name, place in TASKS.items():
        if long or place.share == 1:
            yield from figures_of([*hunts([name], [*WAYS], QUICK_STEPS if quick else STEPS, seeds, (), stages)])


def figures_of(bags: Sequence[Bag]) -> Iterator[Figure]:
    """The mean of each way over the seeds, and for each agent the best of ours."""
    found: defaultdict[tuple[str, str], defaultdict[str, list[Bag]]] = defaultdict(lambda: defaultdict(list))
    for bag in bags:
        found[bag.place, bag.stage][bag.way].append(bag)
    for (place, stage), by_way in sorted(found.items(), key=lambda row: _place_order(row[0])):
        rates = {way: [bag.rate for bag in by_way[way]] for way in WAYS if way in by_way}
        for way, each in rates.items():
            these = by_way[way]
            episodes, judged = (sum(getattr(bag, what) for bag in these) for what in ("failed", "judged"))
            yield Figure(
                item=10, name=f"{place}, {stage} agent: {way}", value=statistics.mean(each), unit="per 1000 steps",
                note=f"{len(each)} {'seed' if len(each) == 1 else 'seeds'}, {min(each):.2g} to {max(each):.2g}; "
                f"{episodes} failing episodes in {sum(bag.steps for bag in these)} steps, {judged} judged",
                low=min(each), high=max(each), direction="higher" if way in OURS else "",
            )  # fmt: skip
        means = {way: statistics.mean(each) for way, each in rates.items()}
        if {PLAIN, UNIFORM, OURS[2]} <= {*means}:
            yield _best(f"{place}, {stage} agent: best of ours against plain", means, late=stage == "late")


def _place_order(row: tuple[str, str]) -> tuple[int, str]:
    return [*TASKS].index(row[0]), row[1]


def _best(name: str, rates: Mapping[str, float], *, late: bool) -> Figure:
    best = max((way for way in OURS if way in rates), key=lambda way: rates[way])
    plain, ours = rates[PLAIN], rates[best]
    value = ours / plain if plain else None
    enough = ours >= AIM * plain and ours >= rates[UNIFORM] and ours > 0
    note = f"best of ours: {best}" if plain else f"plain episodes find none, {best}: {ours:.2g}"
    met = enough if late else None
    return Figure(item=10, name=name, value=value, unit="×", aim=f"≥ {AIM:g} ×", met=met, note=note)


def table(bags: Sequence[Bag]) -> str:
    """Mean rate of each way over the seeds, with the least and the most where they differ."""
    rows: defaultdict[tuple[str, str], defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for bag in bags:
        rows[bag.place, bag.stage][bag.way].append(bag.rate)
    lines = ["| task, agent | " + " | ".join(WAYS) + " |", "|---" * (len(WAYS) + 1) + "|"]
    for (place, stage), by_way in sorted(rows.items(), key=lambda row: _place_order(row[0])):
        best = max((statistics.mean(rates) for way, rates in by_way.items()), default=0.0)
        cells = [_cell(by_way.get(way, []), best) for way in WAYS]
        lines.append(f"| {place}, {stage} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(rates: Sequence[float], best: float) -> str:
    if not rates:
        return "–"
    mean, low, high = statistics.mean(rates), min(rates), max(rates)
    shown = f"**{mean:.2g}**" if mean == best > 0 else f"{mean:.2g}"
    return shown if low == high else f"{shown} ({low:.2g} to {high:.2g})"


def main() -> None:
    """Go on with the hunts of a file, and print the table of all that it holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--tasks", nargs="+", choices=[*TASKS], default=[*TASKS])
    parser.add_argument("--ways", nargs="+", choices=[*WAYS], default=[*WAYS])
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    parser.add_argument("--keep", type=Path, default=Path("hunts.jsonl"))
    parser.add_argument("--write", action="store_true", help="write what the file holds into item 10 of README.md")
    options = parser.parse_args()
    lines = options.keep.read_text(encoding="utf-8").splitlines() if options.keep.exists() else []
    bags = [Bag(**json.loads(line)) for line in lines]
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    for bag in hunts(options.tasks, options.ways, options.steps, seeds, bags, options.stages):
        bags.append(bag)
        with options.keep.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(bag)) + "\n")
    print(table(bags))
    if options.write:
        from benchmarks.records import write_down

        # What was measured before stays: one file seldom holds every hunt of the table.
        write_down(10, [*figures_of(bags)], whole=False)


if __name__ == "__main__":
    main()
