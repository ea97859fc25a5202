"""Made-up runs that use everything a report can show; what they show is judged as everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from tests.report.worlds import Pond, nowhere
from tightrope.evaluation import Evaluation
from tightrope.execution import Episode, Rollout
from tightrope.execution.episode_error import EpisodeError, ErrorKind
from tightrope.exploration.escapes import Survival
from tightrope.fuzzing import FuzzResult
from tightrope.fuzzing.fitness import Fitness
from tightrope.fuzzing.results import Control, Generation, Individual, Spread
from tightrope.outcome import Outcome, StopReason
from tightrope.performance import Comparison, Robustness
from tightrope.reference import BoundaryState, Reference, Survivability
from tightrope.references import SearchResult
from tightrope.references.result import SearchStats
from tightrope.report import AgentInfo, Finding, MapPicture, Published, Results, RunResults, StepCost
from tightrope.report.films.images import data_uri, png_bytes
from tightrope.report.results import MapLine
from tightrope.runs.gates import Gate
from tightrope.safety import (
    SafetyResult,
    SuiteSurvival,
    TestCase,
    TestSuite,
    action_coverage_suite,
    interval_suite,
    judge_suite,
    random_suite,
    simple_suite,
)
from tightrope.statistics import Estimate
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace, Step, Trace

AGENTS = {"2-moves": 0.12, "basic": 0.3, "right-complex": 0.45}
DEPTHS = (21, 24, 58, 71, 96, 97, 131, 150, 188, 214, 240, 271, 303)
METHOD = "cluster bootstrap, 95 %"
LENGTH, REPETITIONS = 40, 10
Judge = Callable[[TestCase, int], Outcome | None]
"""From a case and the number of an execution to how it ended; None: its prefix ended before hand-over."""


def around(value: float, width: float, n: int, low: float = -1e9, high: float = 1e9) -> Estimate:
    return Estimate(value, max(low, value - width), min(high, value + width * 1.2), n, METHOD)


def made_task(name: str, **fields: Any) -> Task:
    return Task(name=name, make_env=Pond, goal=nowhere, unsafe=nowhere, **fields)


def made_reference(task: Task, depths: Sequence[int], length: int, guesses: Iterable[int] = ()) -> Reference:
    """A way of so many actions; the numbers in ``guesses`` are boundary states that are not proven."""
    actions = tuple(depth % 2 for depth in range(length))
    ends = [Outcome.ONGOING] * (length - 1) + [Outcome.GOAL]
    steps = tuple(
        Step(action, 1.0, depth + 1, end) for depth, (action, end) in enumerate(zip(actions, ends, strict=True))
    )
    states = tuple(
        BoundaryState(
            depth=depth,
            key=depth,
            actions=(number % 2,),
            proven=number not in guesses,
            evidence={"unsafe": 3 + number, "stuck": number % 2},
        )
        for number, depth in enumerate(depths)
    )
    return Reference(
        trace=Trace(0, steps), actions=ActionTrace(task.label, 0, actions), boundary_states=states, method="dfs"
    )


def searched(reference: Reference | None, steps: int, *, reason: StopReason = StopReason.GOAL_FOUND) -> SearchResult:
    stats = SearchStats(steps=steps, expansions=steps // 2, seconds=1.6)
    return SearchResult(
        reference=reference, stop_reason=reason, stats=stats, method="dfs", deterministic=True, unprobed=False
    )


def played(case: TestCase, agent: str, number: int, outcome: Outcome | None, *, once: bool = False) -> Episode:
    """An execution that ended like this: unsafe ones after five steps."""
    steps = {Outcome.UNSAFE: 5, None: 0}.get(outcome, LENGTH)
    return Episode(
        rollout=Rollout(start=case.prefix, agent=agent, length=LENGTH, seed=number),
        prefix_steps=len(case.prefix),
        prefix_reward=0.0,
        prefix_outcome=Outcome.ONGOING if outcome is not None else Outcome.TRUNCATED,
        outcome=outcome or Outcome.TRUNCATED,
        actions=(1,) * steps,
        rewards=(1.0 + number / 10,) * steps,
        deterministic=once,
    )


def raised(case: TestCase, agent: str, number: int) -> Episode:
    error = EpisodeError(kind=ErrorKind.AGENT, message="ValueError: no")
    return replace(played(case, agent, number, Outcome.ONGOING), error=error)


def judged_by(
    suite: TestSuite,
    agent: str,
    judge: Judge,
    survival: dict[str, Survival] | None = None,
    repetitions: int = REPETITIONS,
    **how: Any,
) -> SafetyResult:
    episodes = [played(case, agent, n, judge(case, n)) for case in suite.cases for n in range(repetitions)]
    known = SuiteSurvival(by_case=survival or {})
    return judge_suite(suite, episodes, agent=agent, repetitions=repetitions, length=LENGTH, survival=known, **how)


def rolled(suite: TestSuite, agent: str, rate: float = 0.3) -> SafetyResult:
    """An agent that fails about that often, here more and there less."""
    rng = np.random.default_rng([len(suite.cases), len(agent)])
    places = {place: float(np.clip(rng.normal(rate, 0.35), 0, 1)) for place in suite.boundaries}
    fails = {case.id: int(rng.binomial(REPETITIONS, places[case.boundary])) for case in suite.cases}
    known = {case: _known(times, float(rng.random())) for case, times in fails.items()} if suite.depths else {}

    def judge(case: TestCase, number: int) -> Outcome:
        return Outcome.UNSAFE if number < fails[case.id] else Outcome.ONGOING

    return judged_by(suite, agent, judge, known)


def _known(fails: int, chance: float) -> Survival:
    if fails == REPETITIONS and chance < 0.4:
        return Survival(survivable=Survivability.NO, evidence="all ways end unsafe")
    if chance < 0.8:
        return Survival(survivable=Survivability.YES, witness=(0, 1, 1, 0, 0, 0) + (0,) * 40, evidence="replayed")
    return Survival(survivable=Survivability.UNKNOWN)


def plainly(agent: str, unsafe: int, episodes: int = 60, goals: int | None = None) -> Evaluation:
    """Plain episodes, so many of them unsafe; the others reach the goal, or only so many of them."""
    starts = [TestCase(prefix=ActionTrace("t", seed), boundary=0, depth=None, kept=0) for seed in range(episodes)]
    reached = episodes - unsafe if goals is None else goals
    ends = [Outcome.UNSAFE] * unsafe + [Outcome.GOAL] * reached
    ends += [Outcome.TRUNCATED] * (episodes - len(ends))
    return Evaluation(
        task="t",
        agent=agent,
        fingerprint="",
        episodes=tuple(played(start, agent, 0, end) for start, end in zip(starts, ends, strict=True)),
    )


def level_picture(width: int = 3392, height: int = 240) -> np.ndarray:
    image = np.full((height, width, 3), (124, 148, 248), np.uint8)
    image[208:] = (200, 112, 56)
    for gap in (1100, 1376, 2448):
        image[208:, gap : gap + 40] = (124, 148, 248)
    for block in range(250, width, 310):
        image[140:156, block : block + 64] = (232, 156, 80)
    return image


def level_map(length: int = 336) -> MapPicture:
    x = np.linspace(40, 3200, length + 1)
    y = 196 - 50 * np.abs(np.sin(x / 130)) * (np.sin(x / 410) > -0.2)
    rng = np.random.default_rng(0)
    fuzz: list[MapLine] = []
    for _ in range(8):
        reach = int(rng.integers(80, length))
        higher = y[:reach] - 30 * rng.random() * np.abs(np.sin(x[:reach] / 90))
        fuzz.append(tuple(zip(x[:reach].tolist(), higher.tolist(), strict=True)))
    return MapPicture(
        width=3392,
        height=240,
        image=data_uri(png_bytes(level_picture()), "image/png"),
        ways=(tuple(zip(x.tolist(), y.tolist(), strict=True)),),
        fuzz=tuple(fuzz),
    )


def performance(agent: str) -> Robustness:
    rng = np.random.default_rng(len(agent))
    points = []
    for prefix in range(0, 340, 20):
        own = 2600 - 2200 * AGENTS.get(agent, 0.3) * (1 - prefix / 400) + float(rng.normal(0, 90))
        other = 1900 + 2.4 * prefix + float(rng.normal(0, 40))
        points.append(
            Comparison(
                prefix_length=prefix,
                agent=around(own, 160, 100),
                traces=around(other, 90, 100),
                difference=around(own - other, 190, 100),
                agent_iqm=around(own + 40, 120, 100),
                traces_iqm=around(other + 20, 60, 100),
                agent_goal_share=around(0.5, 0.1, 100),
                traces_goal_share=around(0.4, 0.1, 100),
                agent_deterministic=False,
                traces_deterministic=True,
                tests=(),
            )
        )
    return Robustness(
        task="t",
        agent=agent,
        settings={},
        points=tuple(points),
        agent_iqm=around(2000 + len(agent), 120, 100),
        traces_iqm=around(2300, 60, 100),
        agent_goal_share=around(0.5, 0.1, 100),
    )


def fuzzing(generations: int = 50) -> FuzzResult:
    rng = np.random.default_rng(3)
    weights = (2.0, 1.5, 1.0)
    bred, individuals = [], []
    for index in range(generations):
        terms = (float(np.exp(-index / 25)), 1 - float(np.exp(-index / 10)), 0.7 + 0.2 * float(rng.random()))
        fitness = Fitness(
            value=sum(weight * term for weight, term in zip(weights, terms, strict=True)),
            coverage=terms[0],
            positive=terms[1],
            negative=terms[2],
            new_keys=10,
            positive_reward=1.0,
            negative_reward=0.0,
        )
        individuals.append(
            Individual(
                generation=index + 1,
                trace=ActionTrace("t", 0, (0,) * (330 + index)),
                total_return=1200 + 25.0 * index + float(rng.normal(0, 60)),
                outcome=Outcome.ONGOING,
                fitness=fitness,
            )
        )
        bred.append(
            Generation(
                index=index + 1,
                size=50,
                terms={"total_return": Spread(best=2480.0, mean=800 + 12.0 * index, spread=1.0)},
                covered=900 + int(1400 * (1 - np.exp(-index / 18))),
                goals=index // 4,
                unsafe=0,
                failures=0,
                steps=1000,
            )
        )
    control = Control(
        traces=50 * generations,
        steps=1000,
        covered=1190,
        covered_by_generation=tuple(700 + int(500 * (1 - np.exp(-index / 12))) for index in range(generations)),
        best_return=940.0,
        goals=0,
        unsafe=3,
        failures=1,
    )
    return FuzzResult(
        task="t",
        level="traces",
        settings={"population": 50, "weights": weights, "ms": 15},
        ancestors=(),
        individuals=tuple(individuals),
        generations=tuple(bred),
        covered=2240,
        control=control,
        stop_reason=StopReason.COMPLETED,
    )


def with_control(task: Task, suites: dict[str, TestSuite]) -> dict[str, TestSuite]:
    return {**suites, "random": random_suite(task, 12, like=next(iter(suites.values())), actions=(0, 1))}


def results_of(suites: dict[str, TestSuite], agents: Iterable[str]) -> dict[str, dict[str, SafetyResult]]:
    rate = {name: {"random": 3.0}.get(name, 1.0) for name in suites}
    return {
        name: {agent: rolled(suite, agent, AGENTS.get(agent, 0.3) / rate[name]) for agent in agents}
        for name, suite in suites.items()
    }


def replay(case: str, agent: str) -> str:
    return f"tightrope replay run {case} --agent {agent}"


@cache
def mario_like_run(name: str = "1-1 dense") -> RunResults:
    task = made_task(
        "mario",
        options={"actions": "2-moves", "level": "1-1"},
        action_names=("right B", "right A B"),
        fingerprint={"ROM": "ab30029e"},
    )
    reference = made_reference(task, DEPTHS, 336, guesses=range(3, len(DEPTHS), 4))
    suites = {
        "interval:1": interval_suite(reference, 1),
        "simple": simple_suite(reference),
        "coverage:1": action_coverage_suite(reference, 1, range(7)),
    }
    published = Published(
        source="paper",
        fail_frequency={
            "simple": {"2-moves": 0.1, "basic": 0.24, "right-complex": 0.38},
            "interval:1": {"2-moves": 0.07, "basic": 0.23, "right-complex": 0.35},
        },
        boundary={"simple": {"right-complex": (0, 0, 0, 0, 0, 1, 0.9, 0.1, 1, 1, 0, 0, 1)}},
        robust={
            "2-moves": tuple((float(x), 2600.0 - x) for x in range(0, 340, 40)),
            "fuzz traces": tuple((float(x), 1700.0 + x) for x in range(0, 340, 40)),
        },
        mean_return={"simple": {"2-moves": 406.0, "basic": 205.0, "right-complex": 270.0}},
        correlation=-0.7,
        note="read from the published figures",
    )
    costs = (
        StepCost(step="search", steps_executed=1424, seconds=1.6),
        StepCost(
            step="safety",
            episodes=4290,
            steps_asked=880_213,
            steps_executed=151_309,
            steps_saved=728_904,
            agent_queries=120_400,
            seconds=212.0,
        ),
    )
    limit = {"name": "fail frequency", "suite": "interval:1"}
    return RunResults(
        name=name,
        task=task,
        agents=tuple(
            AgentInfo(name=agent, fingerprint="9f8e7d6c5b4a", source=f"agents/{agent}.onnx", behaviour="greedy")
            for agent in AGENTS
        ),
        search=searched(reference, 5695),
        safety=results_of(with_control(task, suites), AGENTS),
        controls=("random",),
        fuzzing=fuzzing(),
        performance={agent: performance(agent) for agent in AGENTS},
        costs=costs,
        gates=(
            Gate(**limit, agent="2-moves", passed=True, detail="22 % is within the allowed 30 %"),
            Gate(**limit, agent="right-complex", passed=False, detail="56 % is above the allowed 30 %"),
            Gate(name="fail frequency", suite="", agent=None, passed=None, detail="nothing was measured"),
        ),
        map=level_map(),
        published=published,
        replay=replay,
        command="tightrope run mario --set level=1-1 --agent agents/2-moves.onnx --agent agents/basic.onnx --out run/",
        machine={"processor": "x86_64, 2 cores"},
        versions={"tightrope": "0.1.0", "python": "3.11.2", "gymnasium": "1.4.0"},
        seeds={"search": 0, "safety": 0},
    )


def lake_task() -> Task:
    return made_task(
        "FrozenLake-v1", options={"is_slippery": True}, action_names=("left", "down", "right", "up"), actions=(0, 1)
    )


@cache
def grid_run(name: str = "FrozenLake") -> RunResults:
    """A square map, one agent, a place without data."""
    image = np.full((256, 256, 3), (222, 236, 245), np.uint8)
    for hole in ((1, 1), (1, 3), (2, 3), (3, 0)):
        image[hole[0] * 64 + 8 : hole[0] * 64 + 56, hole[1] * 64 + 8 : hole[1] * 64 + 56] = (60, 90, 130)
    cells = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (3, 2), (3, 3))
    way = tuple((column * 64 + 32.0, row * 64 + 32.0) for row, column in cells)
    task = lake_task()
    reference = made_reference(task, (1, 2, 3, 4, 5), 6, guesses=(1,))
    suite = simple_suite(reference)
    fails = {1: 0, 2: 2, 3: 5, 4: 10}

    def judge(case: TestCase, number: int) -> Outcome | None:
        if case.depth == 5:
            return None
        return Outcome.UNSAFE if number < fails[case.depth or 0] else Outcome.ONGOING

    known = {
        case.id: Survival(survivable=Survivability.YES, witness=(0,) * LENGTH, evidence="replayed")
        for case in suite.cases
    }
    control = with_control(task, {"simple": suite})["random"]
    return RunResults(
        name=name,
        task=task,
        agents=(AgentInfo(name="ppo"),),
        safety={
            "simple": {"ppo": judged_by(suite, "ppo", judge, known)},
            "random": {"ppo": rolled(control, "ppo", 0.1)},
        },
        controls=("random",),
        search=searched(reference, 40),
        map=MapPicture(width=256, height=256, image=data_uri(png_bytes(image), "image/png"), ways=(way,)),
        replay=replay,
    )


def with_result(run: RunResults, **changes: Any) -> RunResults:
    """The run with another result of its first suite under its first agent."""
    (suite, row), *others = run.safety.items()
    (agent, result), *rest = row.items()
    changed = {suite: {agent: replace(result, **changes), **dict(rest)}, **dict(others)}
    return replace(run, safety=changed)


def broken_run() -> RunResults:
    """The third step leads to where nothing is drawn, and so does the middle of the fuzz trace."""
    run = grid_run()
    assert run.map is not None
    (path,) = run.map.ways
    line = (*path[:3], None, *path[3:])
    return replace(run, map=replace(run.map, ways=((*path[:3], None, *path[4:]),), fuzz=(line,)))


@cache
def strip_run(name: str = "CartPole") -> RunResults:
    """No map: the places stand on a line."""
    task = made_task("CartPole-v1")
    reference = made_reference(task, (12, 60, 61, 62, 140, 300, 420), 500)
    return RunResults(
        name=name,
        task=task,
        agents=(AgentInfo(name="dqn"),),
        safety=results_of({"interval:1": interval_suite(reference, 1)}, ["dqn"]),
        search=searched(reference, 900),
        replay=replay,
    )


def empty_run(name: str = "nothing") -> RunResults:
    return RunResults(
        name=name,
        task=made_task("Taxi-v4"),
        agents=(AgentInfo(name="random"),),
        search=searched(None, 100_000, reason=StopReason.BUDGET_SPENT),
        status="interrupted during safety",
    )


@cache
def sixteen_agents() -> RunResults:
    """More agents than there are colours."""
    task = made_task("Acrobot-v1", action_names=("left", "right"))
    reference = made_reference(task, (12, 60, 140, 300), 500)
    names = [f"checkpoint {number}00k" for number in range(1, 17)]
    return RunResults(
        name="training",
        task=task,
        agents=tuple(AgentInfo(name=name) for name in names),
        safety={
            "simple": {
                name: rolled(simple_suite(reference), name, 0.9 - place / 18) for place, name in enumerate(names)
            }
        },
        search=searched(reference, 900),
        performance={name: performance(name) for name in names},
        gates=tuple(
            Gate(name="fail frequency", suite="simple", agent=name, passed=place > 9, detail="against 40 %")
            for place, name in enumerate(names)
        ),
        replay=replay,
    )


@cache
def one_place() -> RunResults:
    """As little as there can be: one agent, one place, one execution that stands for all."""
    task = made_task("Lane-v0")
    suite = simple_suite(made_reference(task, (7,), 9))
    episode = played(suite.cases[0], "only", 0, Outcome.UNSAFE, once=True)
    result = judge_suite(suite, [episode] * 10, agent="only", repetitions=10, length=LENGTH)
    return RunResults(
        name="one place",
        task=task,
        agents=(AgentInfo(name="only"),),
        safety={"simple": {"only": result}},
        search=searched(made_reference(task, (7,), 9), 30),
        plain={"only": plainly("only", 0, 2)},
        replay=replay,
    )


@cache
def many_cases() -> RunResults:
    """Two thousand cases at a hundred places."""
    task = made_task("Maze-v0", action_names=("left", "right", "up", "down"))
    reference = made_reference(task, range(5, 505, 5), 600)
    suite = action_coverage_suite(reference, 1, range(20))
    return RunResults(
        name="many",
        task=task,
        agents=(AgentInfo(name="dqn"),),
        safety={"coverage:1": {"dqn": rolled(suite, "dqn", 0.3)}},
        search=searched(reference, 90_000),
        replay=replay,
    )


@cache
def no_failure() -> RunResults:
    """Two agents that never fail."""
    run = strip_run()
    (suite,) = (result.suite for result in run.safety["interval:1"].values())
    names = ("steady", "sturdy")
    return replace(
        run,
        name="no failure",
        agents=tuple(AgentInfo(name=name) for name in names),
        safety={"interval:1": {name: judged_by(suite, name, lambda case, n: Outcome.ONGOING) for name in names}},
        plain={name: plainly(name, 0, 100) for name in names},
        gates=tuple(
            Gate(name="fail frequency", suite="interval:1", agent=name, passed=True, detail="0 % of 5 %")
            for name in names
        ),
    )


def full_results() -> Results:
    return Results(
        title="Super Mario Bros. 1-1, three agents",
        runs=(mario_like_run(),),
        tightrope_version="0.1.0",
        findings=(
            Finding(
                title="The wide gap at 188",
                text="All agents jump too early.\n\n- 2-moves: late by two steps\n- basic: never jumps",
            ),
        ),
    )


def several_results() -> Results:
    return Results(
        title="Four tasks",
        runs=(mario_like_run(), grid_run(), strip_run(), empty_run()),
        tightrope_version="0.1.0",
    )


def compared_runs() -> Results:
    """Two runs that share a suite, so that their agents are set beside each other over the runs."""
    run = grid_run()
    assert run.search is not None
    suite = simple_suite(run.search.reference)

    def of(agent: str, failing: int) -> RunResults:
        result = judged_by(suite, agent, lambda case, n: Outcome.UNSAFE if case.depth == failing else Outcome.ONGOING)
        return replace(
            run, name=agent, agents=(AgentInfo(name=agent),), safety={"simple": {agent: result}}, controls=()
        )

    return Results(title="old and new", runs=(of("old", 2), of("new", 3)), tightrope_version="0.1.0")
