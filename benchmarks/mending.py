"""Does training from failing situations mend an agent? Several arms with the same number of training steps.

    python -m benchmarks.mending --out results/ [--only cartpole mario] [--arms plain failing] [--jobs 2] [--quick]

For each task an agent is trained in stages until its mean return in plain episodes is as high as the task's entry in
``SUBJECTS`` says (without such a number: for one stage), and plays from some reset seeds; its runs are the *training*
references. A suite on them disturbs it: at a random moment an action is held for a few steps, then the agent is on its
own. Then it goes on learning: plainly; with half of the episodes from situations in which it failed (of the suite, and
shortly before the end of its runs); with half, or a quarter, of them from those of these that somebody survives; with
half of them from states drawn uniformly from the same runs. Every arm has three seeds. What is compared is measured
where training never was: in the same way on *held-out* references (avoidable fail frequency, and the fail frequency
where somebody was shown to survive), and in plain episodes from the usual starts (return).
Results go to ``mending.json`` in the folder, a row for each agent, and the table is printed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import tightrope as tr
from tightrope.reference import Survivability
from tightrope.safety import SuiteSurvival
from tightrope.safety.judging.storage import survival_from_json, survival_to_json
from tightrope.tracefiles import trace_from_json, trace_to_json
from tightrope.training import Situation, SituationStarts, situations_from


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One way to go on learning."""

    situations: str = ""
    """Which of the prepared ones episodes begin in; none: all of them begin at a reset."""
    share: float = 0.0
    """Of the episodes."""
    weights: str = "equal"


ARMS = {
    "plain": Arm(),
    "failing": Arm(situations="failing", share=0.5, weights="adaptive"),
    "survivable": Arm(situations="survivable", share=0.5, weights="adaptive"),
    "quarter": Arm(situations="survivable", share=0.25, weights="adaptive"),
    "uniform": Arm(situations="uniform", share=0.5),
}
SEEDS = (1, 2, 3)
MOST_STAGES = 50
"""Of a first agent: one that is no good by then will not be."""
EPSILON = 0.02
"""Random actions of every agent that is tested: without, nothing would vary but the starts."""
UNIFORM_STATES = 200
MEASURED = ("avoidable", "survivable", "return", "unsafe")
CHOOSING, TRAINING, HELD_OUT, TESTING = 0, 1, 2, 3
"""Seeds of the episodes that a first agent is chosen by, and of the references and episodes of each side; none is
shared."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A task, and how an agent for it is trained."""

    task: Callable[[], tr.Task]
    train: Callable[..., Path]
    """``train(subject, folder, base, situations, arm, seed, steps)`` returns the agent's file."""
    stage: int
    """Training steps after which the agent that is to be mended is looked at."""
    steps: int
    """Training steps of each arm."""
    enough: float | None = None
    """Mean plain return from which on it is trained no further; None: after one stage. How good an agent is after a
    fixed number of steps hangs on versions and processors."""
    hold: tuple[int, int]
    """Fewest and most steps that a disturbing action is held."""
    length: int = 40
    before: int = 20
    """Steps before the end of a failing run at which training begins."""
    references: int = 30
    """Runs of the agent on each side."""
    cases: int = 200
    repetitions: int = 5
    episodes: int = 100
    """Plain ones that the return is measured in."""
    options: dict[str, Any] = field(default_factory=dict)


def ppo(
    subject: Subject, folder: Path, base: Path | None, situations: Sequence[Situation], arm: Arm, seed: int, steps: int
) -> Path:
    """Train with Stable-Baselines3 from scratch, or go on."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv

    torch.set_num_threads(1)
    task = subject.task()
    envs = DummyVecEnv(
        [
            lambda number=number: SituationStarts(task, situations, arm.share, 100 * seed + number, weights=arm.weights)
            for number in range(8)
        ]
    )
    if base is None:
        model = PPO("MlpPolicy", envs, seed=seed, device="cpu", **subject.options)
    else:
        model = PPO.load(base, envs, device="cpu")
        model.set_random_seed(seed)
    model.learn(steps)
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / "agent.zip")
    return folder / "agent.zip"


def mario(*arguments: Any) -> Path:
    """Double DQN, from the agent that is shipped."""
    from benchmarks.mending_mario import go_on

    return go_on(*arguments)


def _mario_task() -> tr.Task:
    from tightrope_mario.game.task import mario_task

    return mario_task(level="1-1", actions="basic")


SUBJECTS = {
    "cartpole": Subject(
        task=lambda: tr.make_task("CartPole-v1"),
        train=ppo,
        stage=2_048,
        enough=200.0,
        steps=32_768,
        hold=(2, 5),
        length=100,
        before=30,
        options={"n_steps": 128, "gae_lambda": 0.8, "gamma": 0.98, "learning_rate": 3e-4},
    ),
    "lunarlander": Subject(
        task=lambda: tr.make_task("LunarLander-v3"),
        train=ppo,
        stage=200_000,
        steps=100_000,
        hold=(8, 24),
        length=150,
        before=60,
        options={"n_steps": 512, "batch_size": 128, "gamma": 0.999, "gae_lambda": 0.98, "ent_coef": 0.01},
    ),
    "minigrid": Subject(
        task=lambda: tr.make_task("MiniGrid-LavaGapS6-v0", observation="flat"),
        train=ppo,
        # After 60,000 steps it had no failing situation at all.
        stage=24_000,
        steps=40_000,
        hold=(1, 3),
        before=5,
        options={"n_steps": 128, "batch_size": 256, "ent_coef": 0.01, "gamma": 0.97},
    ),
    "mario": Subject(
        task=_mario_task, train=mario, stage=0, steps=120_000, hold=(2, 6), before=25, references=14, cases=140
    ),
}


def _subject(name: str, quick: bool) -> Subject:
    whole = SUBJECTS[name]
    if not quick:
        return whole
    return replace(
        whole,
        stage=whole.stage // 20,
        steps=whole.steps // 20,
        enough=None,
        references=3,
        cases=8,
        repetitions=2,
        episodes=4,
    )


def first_agent(subject: Subject, task: tr.Task, folder: Path) -> Path:
    """The agent to be mended: of the first stage after which it is good enough."""
    path = None
    for stage in range(MOST_STAGES):
        path = subject.train(subject, folder, path, (), ARMS["plain"], stage, subject.stage)
        if subject.enough is None or plain_return(subject, task, path) >= subject.enough:
            return path
    raise SystemExit(f"{task.label}: the return is still below {subject.enough} after {MOST_STAGES} stages")


def plain_return(subject: Subject, task: tr.Task, path: Path) -> float:
    """What a first agent is chosen by."""
    agent = tr.load_agent(path, task, epsilon=EPSILON, name="first")
    return tr.evaluate(task, agent, subject.episodes, seed=CHOOSING, length=2000).mean_return.value or 0.0


def prepare(name: str, out: Path, quick: bool, workers: int) -> None:
    """The agent to be mended, the references of both sides, and the situations of the arms that have some."""
    subject, folder = _subject(name, quick), out / name
    if (folder / "situations.json").exists():
        return
    task = subject.task()
    base = first_agent(subject, task, folder / "base")
    agent = tr.load_agent(base, task, epsilon=EPSILON, name="before")
    machine = {"backend": "processes", "workers": workers} if workers > 1 else {}
    runs = {
        side: tr.evaluate(task, agent, subject.references, seed=side, length=2000, **machine)
        for side in (TRAINING, HELD_OUT)
    }
    suites = {side: disturbed(subject, task, runs[side], side) for side in runs}
    result = tr.run_suite(
        task, agent, suites[TRAINING], subject.repetitions, subject.length, seed=TRAINING, explain=False, **machine
    )
    ends = situations_from(runs[TRAINING].failing_episodes, steps_before=subject.before)
    failing, survivable = situations_from(result, ends), situations_from(result, ends, survivable=True)
    uniform = situations_from(_moments(runs[TRAINING], UNIFORM_STATES, np.random.default_rng(TRAINING)))
    known, measured = test(subject, task, agent, suites[HELD_OUT], None, machine)
    stored = {
        "base": str(base.relative_to(out)),
        "failing": _written(failing),
        "survivable": _written(survivable),
        "uniform": _written(uniform),
        "cases": [trace_to_json(case.prefix) for case in suites[HELD_OUT].cases],
        "survival": survival_to_json(known),
    }
    row = {"task": name, "arm": "before", "seed": 0, **measured, "situations": len(failing)}
    (folder / "before.json").write_text(json.dumps(row))
    (folder / "situations.json").write_text(json.dumps(stored))
    _tell(row)


def run_arm(name: str, arm: str, seed: int, out: Path, quick: bool) -> None:
    """Train one arm with one seed, and test what came out."""
    subject, folder = _subject(name, quick), out / name / f"{arm}-{seed}"
    if (folder / "row.json").exists():
        return
    stored = json.loads((out / name / "situations.json").read_text())
    way = ARMS[arm]
    situations = _read(stored[way.situations]) if way.situations else ()
    began = time.process_time()
    trained = next(folder.glob("agent.*"), None)
    path = trained or subject.train(subject, folder, out / stored["base"], situations, way, seed, subject.steps)
    seconds = time.process_time() - began
    task = subject.task()
    agent = tr.load_agent(path, task, epsilon=EPSILON, name=f"{arm} {seed}")
    suite = _suite([trace_from_json(case) for case in stored["cases"]])
    survival = survival_from_json(stored["survival"])
    _, measured = test(subject, task, agent, suite, survival, {})
    about = {"situations": len(situations), "share": way.share, "processor_seconds": round(seconds)}
    row = {"task": name, "arm": arm, "seed": seed, **measured, **about}
    (folder / "row.json").write_text(json.dumps(row))
    _tell(row)


def test(
    subject: Subject,
    task: tr.Task,
    agent: tr.Agent,
    suite: tr.TestSuite,
    known: SuiteSurvival | None,
    machine: dict[str, Any],
) -> tuple[SuiteSurvival, dict[str, Any]]:
    """What counts: the held-out suite, and plain episodes. What can be survived is found out once."""
    result = tr.run_suite(
        task,
        agent,
        suite,
        subject.repetitions,
        subject.length,
        seed=TESTING,
        explain=False,
        survivable=True if known is None else known,
        **machine,
    )
    plain = tr.evaluate(task, agent, subject.episodes, seed=TESTING, length=2000, **machine)
    return result.survival, {
        "avoidable": result.avoidable_fail_frequency.value,
        "survivable": result.survivable_fail_frequency.value,
        "fails": result.fail_frequency.value,
        "cases": len(suite),
        "doomed": result.survivability[Survivability.NO],
        "return": plain.mean_return.value,
        "unsafe": plain.unsafe_rate.value,
        "goal": plain.goal_rate.value,
    }


def disturbed(subject: Subject, task: tr.Task, runs: tr.Evaluation, side: int) -> tr.TestSuite:
    """Situations off the agent's own way: at a random moment of a run an action was held for some steps."""
    rng = np.random.default_rng(side)
    fewest, most = subject.hold
    prefixes = [
        moment.then([int(rng.choice(task.search_actions))] * int(rng.integers(fewest, most + 1)))
        for moment in _moments(runs, subject.cases, rng)
    ]
    return _suite(prefixes)


def _suite(prefixes: Sequence[tr.ActionTrace]) -> tr.TestSuite:
    cases = [tr.TestCase(prefix=prefix, boundary=number, depth=None, kept=0) for number, prefix in enumerate(prefixes)]
    return tr.TestSuite(kind="disturbed", parameters={}, reference=prefixes[0].prefix(0), depths=(), cases=tuple(cases))


def _moments(runs: tr.Evaluation, count: int, rng: np.random.Generator) -> list[tr.ActionTrace]:
    """Situations drawn so that every one of any run is equally likely; the last step of a run is its end."""
    ways = [episode.trace for episode in runs.judged]
    lengths = np.array([len(way) for way in ways], float)
    chosen = rng.choice(len(ways), count, p=lengths / lengths.sum())
    return [ways[index].prefix(int(rng.integers(len(ways[index])))) for index in chosen]


def _written(situations: Sequence[Situation]) -> list[Any]:
    return [[trace_to_json(known.trace), known.weight] for known in situations]


def _read(stored: Sequence[Any]) -> tuple[Situation, ...]:
    return tuple(Situation(trace=trace_from_json(trace), weight=weight) for trace, weight in stored)


def _tell(row: dict[str, Any]) -> None:
    shown = {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}
    print(json.dumps(shown), flush=True)


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Means over the seeds of an arm, with 95 % intervals by the t distribution, and the value of each seed."""
    yield (
        "| task | arm | avoidable fail frequency, held out | where somebody survives | return, plain starts "
        "| unsafe, plain starts |"
    )
    yield "|---|---|---|---|---|---|"
    for task in dict.fromkeys(row["task"] for row in rows):
        for arm in ("before", *ARMS):
            chosen = [row for row in rows if (row["task"], row["arm"]) == (task, arm)]
            if chosen:
                cells = (_interval([row[key] for row in chosen]) for key in MEASURED)
                yield f"| {task} | {arm} | {' | '.join(cells)} |"


def _interval(told: Sequence[float | None]) -> str:
    values = [value for value in told if value is not None]
    if not values:
        return "no data"
    mean = float(np.mean(values))
    shown = (lambda value: f"{value:,.0f}") if abs(mean) >= 20 else (lambda value: f"{value:.3f}")
    if len(values) < 2:
        return shown(mean)
    reach = float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5)
    return f"{shown(mean)} [{shown(mean - reach)}, {shown(mean + reach)}] ({', '.join(map(shown, values))})"


def _at_once(jobs: int, calls: Sequence[tuple[Any, ...]]) -> None:
    """Every call in a process of its own, so many at a time; one that fails is told of, and the others go on."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, max_tasks_per_child=1) as pool:
        futures = {pool.submit(*call): call for call in calls}
        for future in as_completed(futures):
            if future.exception() is not None:
                print(f"{futures[future][1:4]}: {future.exception()!r}", flush=True)


def main() -> None:
    """Prepare, train, test, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=sorted(SUBJECTS), default=list(SUBJECTS))
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time")
    parser.add_argument("--workers", type=int, default=1, help="processes for each preparation")
    parser.add_argument("--quick", action="store_true", help="a twentieth of everything: shows that it works")
    options = parser.parse_args()
    out = options.out.resolve()
    _at_once(options.jobs, [(prepare, name, out, options.quick, options.workers) for name in options.only])
    _at_once(
        options.jobs,
        [
            (run_arm, name, arm, seed, out, options.quick)
            for seed in SEEDS
            for arm in options.arms
            for name in options.only
            if (out / name / "situations.json").exists()
        ],
    )
    rows = [json.loads(path.read_text()) for path in sorted(out.glob("*/before.json"))]
    rows += [json.loads(path.read_text()) for path in sorted(out.glob("*/*/row.json"))]
    (out / "mending.json").write_text(json.dumps(rows, indent=1) + "\n")
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
