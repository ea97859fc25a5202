"""Made-up results that use everything a report can show."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from tightrope.reference import Survivability
from tightrope.report import (
    AgentInfo,
    BoundaryResult,
    BoundarySummary,
    CaseResult,
    Finding,
    FuzzSummary,
    GateResult,
    GenerationSummary,
    MapPicture,
    PerformancePoint,
    PerformanceSummary,
    Published,
    Results,
    RunResults,
    SearchSummary,
    StepCost,
    SuiteResult,
    TaskInfo,
)
from tightrope.report.films.images import data_uri, png_bytes
from tightrope.statistics import Estimate

AGENTS = {"2-moves": 0.12, "basic": 0.3, "right-complex": 0.45}
DEPTHS = (21, 24, 58, 71, 96, 97, 131, 150, 188, 214, 240, 271, 303)
METHOD = "cluster bootstrap, 95 %"


def around(value: float, width: float, n: int, low: float = 0.0, high: float = 1.0) -> Estimate:
    return Estimate(value, max(low, value - width), min(high, value + width * 1.2), n, METHOD)


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
    fuzz = []
    for _ in range(8):
        reach = int(rng.integers(80, length))
        fuzz.append(
            tuple(
                zip(
                    x[:reach].tolist(),
                    (y[:reach] - 30 * rng.random() * np.abs(np.sin(x[:reach] / 90))).tolist(),
                    strict=True,
                )
            )
        )
    return MapPicture(
        width=3392,
        height=240,
        image=data_uri(png_bytes(level_picture()), "image/png"),
        reference=tuple(zip(x.tolist(), y.tolist(), strict=True)),
        fuzz=tuple(fuzz),
    )


def suite_result(name: str, agent: str, labels: tuple[str, ...], depths: tuple[int, ...] = DEPTHS) -> SuiteResult:
    rng = np.random.default_rng([len(name), len(agent)])
    cases, boundary = [], []
    for depth in depths:
        rate = float(np.clip(rng.normal(AGENTS.get(agent, 0.3), 0.35), 0, 1))
        own = []
        for label in labels:
            fails = int(rng.binomial(10, rate))
            doomed = fails == 10 and rng.random() < 0.4
            survivable = (
                Survivability.NO if doomed else Survivability.YES if rng.random() < 0.8 else Survivability.UNKNOWN
            )
            own.append(
                CaseResult(
                    id=f"{name}-{depth}-{label}".encode().hex()[-14:],
                    depth=depth,
                    handover=depth + len(own) - 1,
                    label=label,
                    fails=fails,
                    passes=10 - fails,
                    fail_frequency=around(fails / 10, 0.2, 10),
                    survivable=survivable,
                    mean_return=around(380 - 30 * fails, 25, 10, -1e9, 1e9),
                    replay=f"tightrope replay run {name}-{depth}-{label}",
                    witness=(0, 1, 1, 0, 0, 0) if survivable is Survivability.YES else None,
                )
            )
        cases += own
        value = float(np.mean([case.fails / 10 for case in own]))
        doomed_cases = sum(case.survivable is Survivability.NO for case in own)
        boundary.append(
            BoundaryResult(
                depth=depth,
                fail_frequency=around(value, 0.15, len(own)),
                survivable_fail_frequency=around(value * 0.9, 0.15, len(own)),
                mean_return=around(300, 20, 10, -1e9, 1e9),
                cases=len(own),
                doomed=doomed_cases,
            )
        )
    mean = float(np.mean([state.fail_frequency.value for state in boundary]))
    return SuiteResult(
        suite=name,
        agent=agent,
        fail_frequency=around(mean, 0.09, len(depths)),
        survivable_fail_frequency=around(mean * 0.85, 0.09, len(depths)),
        mean_return=around(420 - 400 * mean, 30, len(depths), -1e9, 1e9),
        fails_per_1000_steps=around(3 * mean, 0.4, 40, 0, 99),
        cases=tuple(cases),
        boundary=tuple(boundary),
        repetitions=10,
        length=40,
    )


def control(agent: str) -> SuiteResult:
    return SuiteResult(
        suite="random(40)",
        agent=agent,
        fail_frequency=around(AGENTS.get(agent, 0.2) / 3, 0.03, 40),
        control=True,
        mean_return=around(400, 20, 40, -1e9, 1e9),
        fails_per_1000_steps=around(0.6, 0.2, 40, 0, 99),
    )


def performance(agent: str) -> PerformanceSummary:
    rng = np.random.default_rng(len(agent))
    points = []
    for prefix in range(0, 340, 20):
        own = 2600 - 2200 * AGENTS.get(agent, 0.3) * (1 - prefix / 400) + float(rng.normal(0, 90))
        other = 1900 + 2.4 * prefix + float(rng.normal(0, 40))
        points.append(
            PerformancePoint(
                prefix_length=prefix,
                agent=around(own, 160, 100, -1e9, 1e9),
                traces=around(other, 90, 100, -1e9, 1e9),
                difference=around(own - other, 190, 100, -1e9, 1e9),
                agent_iqm=around(own + 40, 120, 100, -1e9, 1e9),
                traces_iqm=around(other + 20, 60, 100, -1e9, 1e9),
                agent_goal_share=around(0.5, 0.1, 100),
                traces_goal_share=around(0.4, 0.1, 100),
            )
        )
    return PerformanceSummary(agent=agent, points=tuple(points))


def fuzzing() -> FuzzSummary:
    rng = np.random.default_rng(3)
    generations = []
    for index in range(50):
        terms = (
            2 * float(np.exp(-index / 25)),
            1.5 * (1 - float(np.exp(-index / 10))),
            0.7 + 0.2 * float(rng.random()),
        )
        generations.append(
            GenerationSummary(
                index=index,
                best_fitness=sum(terms),
                coverage_term=terms[0],
                positive_term=terms[1],
                negative_term=terms[2],
                best_return=1200 + 25.0 * index + float(rng.normal(0, 60)),
                mean_return=800 + 12.0 * index,
                covered=900 + int(1400 * (1 - np.exp(-index / 18))),
                control_covered=700 + int(500 * (1 - np.exp(-index / 12))),
                goals=index // 4,
                length=330 + index,
            )
        )
    return FuzzSummary(
        generations=tuple(generations),
        population=50,
        stop_reason="completed",
        covered=2240,
        control_covered=1190,
        control_best_return=940.0,
        best_return=2480.0,
        settings={"λcov": "2", "λpos": "1.5", "λneg": "1", "pc": "0.25", "pmstop": "0.2", "ms": "15"},
    )


@cache
def mario_like_run(name: str = "1-1 dense") -> RunResults:
    suites = []
    for agent in AGENTS:
        suites += [
            suite_result("simple", agent, ("0",)),
            suite_result("interval(1)", agent, ("-1", "0", "+1")),
            suite_result("coverage(1)", agent, ("none", "right", "right A", "right B", "right A B", "A", "left")),
            control(agent),
        ]
    states = tuple(
        BoundarySummary(
            depth=depth, proven=index % 4 != 3, evidence={"unsafe": 3 + index, "stuck": index % 2}, actions=(index % 2,)
        )
        for index, depth in enumerate(DEPTHS)
    )
    published = Published(
        source="paper",
        fail_frequency={
            "simple": {"2-moves": 0.1, "basic": 0.24, "right-complex": 0.38},
            "interval(1)": {"2-moves": 0.07, "basic": 0.23, "right-complex": 0.35},
        },
        boundary={"simple": {"right-complex": (0, 0, 0, 0, 0, 1, 0.9, 0.1, 1, 1, 0, 0, 1)}},
        robust={
            "2-moves": tuple((float(x), 2600 - x) for x in range(0, 340, 40)),
            "fuzz traces": tuple((float(x), 1700.0 + x) for x in range(0, 340, 40)),
        },
        mean_return={"simple": {"2-moves": 406.0, "basic": 205.0, "right-complex": 270.0}},
        correlation=-0.7,
        note="read from the published figures",
    )
    costs = (
        StepCost(step="search", steps_asked=5695, steps_executed=1424, steps_saved=4271, seconds=1.6),
        StepCost(
            step="safety",
            episodes=4290,
            steps_asked=880_213,
            steps_executed=151_309,
            steps_saved=728_904,
            agent_queries=120_400,
            seconds=212.0,
        ),
        StepCost(
            step="fuzzing",
            episodes=2500,
            steps_asked=610_000,
            steps_executed=142_000,
            steps_saved=468_000,
            seconds=130.0,
        ),
    )
    return RunResults(
        name=name,
        task=TaskInfo(
            label="mario(actions='2-moves', level='1-1')",
            deterministic=True,
            snapshots="own methods",
            action_names=("right B", "right A B"),
            fingerprint={"ROM": "ab30029e"},
        ),
        agents=tuple(
            AgentInfo(name=agent, fingerprint="9f8e7d6c5b4a", source=f"agents/{agent}.onnx", behaviour="greedy")
            for agent in AGENTS
        ),
        search=SearchSummary(
            method="dfs",
            stop_reason="goal found",
            found=True,
            length=336,
            total_reward=3074.0,
            steps=5695,
            visited=4100,
            seconds=1.6,
            boundary_states=states,
        ),
        suites=tuple(suites),
        fuzzing=fuzzing(),
        performance=tuple(performance(agent) for agent in AGENTS),
        costs=costs,
        gates=(
            GateResult(name="interval(1) fail frequency < 30 %", agent="2-moves", passed=True, detail="high end 22 %"),
            GateResult(
                name="interval(1) fail frequency < 30 %", agent="right-complex", passed=False, detail="high end 56 %"
            ),
            GateResult(name="coverage(2) fail frequency < 30 %", passed=None, detail="nothing measured"),
        ),
        map=level_map(),
        correlation=Estimate(-0.82, -0.95, -0.48, 9, "Fisher, 95 %"),
        published=published,
        headline_suite="interval(1)",
        command="tightrope run mario --set level=1-1 --agent agents/2-moves.onnx --agent agents/basic.onnx --out run/",
        machine={"processor": "x86_64, 2 cores"},
        versions={"tightrope": "0.1.0", "python": "3.11.2", "gymnasium": "1.4.0"},
        seeds={"search": 0, "safety": 0},
    )


def grid_run(name: str = "FrozenLake") -> RunResults:
    """A square map, one agent, some boundary states without data."""
    image = np.full((256, 256, 3), (222, 236, 245), np.uint8)
    for hole in ((1, 1), (1, 3), (2, 3), (3, 0)):
        image[hole[0] * 64 + 8 : hole[0] * 64 + 56, hole[1] * 64 + 8 : hole[1] * 64 + 56] = (60, 90, 130)
    cells = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (3, 2), (3, 3))
    reference = tuple((column * 64 + 32.0, row * 64 + 32.0) for row, column in cells)
    suite = suite_result("simple", "ppo", ("0",), (1, 2, 3, 4, 5))
    blank = BoundaryResult(depth=5, fail_frequency=Estimate.of_nothing(), cases=1, invalid=1)
    invalid = CaseResult(id="feedbeef0000", depth=5, handover=5, label="0", invalid=10)
    cases = (*(case for case in suite.cases if case.depth != 5), invalid)
    suite = replace(suite, boundary=(*suite.boundary[:-1], blank), cases=cases)
    states = tuple(
        BoundarySummary(depth=depth, proven=depth != 2, evidence={"unsafe": depth}, actions=(1,))
        for depth in (1, 2, 3, 4, 5)
    )
    return RunResults(
        name=name,
        task=TaskInfo(
            label="FrozenLake-v1(is_slippery=True)", deterministic=False, action_names=("left", "down", "right", "up")
        ),
        agents=(AgentInfo(name="ppo"),),
        suites=(suite, control("ppo")),
        search=SearchSummary(
            method="dfs", stop_reason="goal found", found=True, length=6, steps=40, boundary_states=states
        ),
        map=MapPicture(width=256, height=256, image=data_uri(png_bytes(image), "image/png"), reference=reference),
    )


def broken_run() -> RunResults:
    """The third step leads to where nothing is drawn, and so does the middle of the fuzz trace."""
    run = grid_run()
    assert run.map is not None
    path = run.map.reference
    line = (*path[:3], None, *path[3:])
    return replace(run, map=replace(run.map, reference=(*path[:3], None, *path[4:]), fuzz=(line,)))


def strip_run(name: str = "CartPole") -> RunResults:
    """No map: the boundary states stand on a line."""
    suite = suite_result("interval(1)", "dqn", ("-1", "0", "+1"), (12, 60, 61, 62, 140, 300, 420))
    states = tuple(BoundarySummary(depth=state.depth, proven=True, evidence={"unsafe": 2}) for state in suite.boundary)
    return RunResults(
        name=name,
        task=TaskInfo(label="CartPole-v1", deterministic=True),
        agents=(AgentInfo(name="dqn"),),
        suites=(suite,),
        search=SearchSummary(
            method="dfs", stop_reason="goal found", found=True, length=500, steps=900, boundary_states=states
        ),
    )


def empty_run(name: str = "nothing") -> RunResults:
    return RunResults(
        name=name,
        task=TaskInfo(label="Taxi-v4"),
        agents=(AgentInfo(name="random"),),
        search=SearchSummary(method="archive", stop_reason="budget spent", found=False, steps=100_000),
        status="interrupted during safety",
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
        correlation=Estimate(-0.4, -0.8, 0.1, 14, "Fisher, 95 %"),
        tightrope_version="0.1.0",
    )
