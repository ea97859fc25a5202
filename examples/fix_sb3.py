"""Test an agent, go on training where it fails, test again: PPO on LunarLander, before and after in one report.

    python examples/fix_sb3.py [--before 150000] [--after 100000] [--out runs/fix]

Needs ``pip install '.[sb3,box2d]'`` and some minutes. The runs that situations come from and those that the
result is measured on begin at different reset seeds: the training never sees the second ones.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

import tightrope as tr
from tightrope.training import SituationStarts, situations_from

STEPS_BEFORE = 60
"""A crash is lost some time before it happens: begin early enough to do better."""


def environments(task: tr.Task, situations: object = (), share: float = 0.0) -> VecEnv:
    """Eight environments; ``info["situation"]`` in Monitor's files tells plain episodes from the others."""
    return DummyVecEnv(
        [
            lambda number=number: Monitor(
                SituationStarts(task, situations, share, seed=number, weights="adaptive"),
                info_keywords=("situation",),
            )
            for number in range(8)
        ]
    )


def test(agents: dict[str, Path], out: Path) -> tr.Run:
    """One campaign over all of them: plain episodes, suites, and a report that compares them."""
    config = tr.CampaignConfig(
        task="LunarLander-v3",
        agents=tuple(tr.AgentConfig(source=str(path), name=name, epsilon=0.02) for name, path in agents.items()),
        plain=tr.PlainConfig(episodes=50),
        # Box2D cannot be saved, so whatever is looked for is paid for by replays; more finds more boundary states.
        search=tr.SearchConfig(probe_steps=1000),
        safety=tr.SafetyConfig(suites=("simple",), length=100, repetitions=5),
        fuzzing=tr.FuzzingConfig(enabled=False),
        performance=tr.PerformanceConfig(enabled=False),
        report=tr.ReportConfig(videos=0),
    )
    return tr.run_campaign(config, out)


def main() -> None:
    """Train, test, go on, test both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=int, default=150_000, help="training steps of the agent to mend")
    parser.add_argument("--after", type=int, default=100_000, help="training steps from failing starts")
    parser.add_argument("--out", type=Path, default=Path("runs/fix"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    agents = {name: options.out / f"{name}.zip" for name in ("before", "after")}
    task = tr.make_task("LunarLander-v3")

    model = PPO("MlpPolicy", environments(task), n_steps=512, batch_size=128, gamma=0.999, seed=0, device="cpu")
    model.learn(options.before)
    model.save(agents["before"])

    tested = tr.load_agent(agents["before"], task, epsilon=0.02, name="before")
    failing = tr.evaluate(task, tested, episodes=60, seed=1).failing_episodes
    situations = situations_from(failing, steps_before=STEPS_BEFORE)
    print(f"{len(situations)} situations in which it fails")
    model.set_env(environments(task, situations, share=0.5 if situations else 0.0))
    model.learn(options.after)
    model.save(agents["after"])

    run = test(agents, options.out / "run")
    plain = tr.compare_plain(run.plain["before"], run.plain["after"])
    print(f"normal starts: unsafe {plain.unsafe_a:.2f} before, {plain.unsafe_b:.2f} after")
    found = tr.compare_safety(run.safety["simple"]["before"], run.safety["simple"]["after"])
    print(f"held-out references, cases: {len(found.newly_fixed)} fixed, {len(found.newly_failing)} newly failing")
    print(f"kinds of failure that are fixed or new: {run.report_path}")


if __name__ == "__main__":
    main()
