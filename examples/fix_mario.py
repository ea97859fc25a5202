"""Test a Super Mario Bros. agent, go on training where it lost, test again: before and after in one report.

    python examples/fix_mario.py agents/mario/1-1-dense-basic-late.onnx [--steps 325000] [--out runs/fix-mario]

Needs ``pip install '.[mario,torch]'``. The defaults are for two cores: they show how it goes in some minutes, and mend
nothing. With a data-centre GPU, 16 cores and the preset's own numbers (the last options) 325,000 steps took 82 seconds.
The games that training begins in and those that the result is measured on have different random actions, and training
never sees the reference of the search, whose boundary states both agents are put at.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import tightrope as tr
from tightrope.training import situations_from
from tightrope_mario.training.recipe import TrainingConfig, default_preset, find_recipe, trained_for
from tightrope_mario.training.starts import Starts
from tightrope_mario.training.train import train

EPSILON = 0.02
"""Random actions of every agent that is tested: without, every game would be the same."""
OF_THE_PRESET = ("workers", "lanes", "batch", "updates", "burn_in_ticks", "memory_ticks")
LONGEST = 600
"""Steps of a game that situations are taken from; one that takes longer stands still."""


def go_on(options: argparse.Namespace, known: dict[str, str]) -> Path:
    """Play, take the situations shortly before each loss, and go on training from them; the new agent."""
    task = tr.make_task("mario", level=known["level"], actions=known["actions"], reward=known["reward"])
    agent = tr.load_agent(options.agent, task, name="before", epsilon=EPSILON)
    lost = tr.evaluate(task, agent, options.games, seed=1, length=LONGEST).failing_episodes
    situations = situations_from(lost, steps_before=options.steps_before)
    print(f"{len(situations)} situations, each {options.steps_before} steps before a lost game ended")
    starts = Starts(situations=situations, actions=task.action_names, share=options.share if situations else 0.0)
    recipe = find_recipe(
        default_preset(known["reward"], goes_on=True),
        **{name: getattr(options, name) for name in OF_THE_PRESET},
    )
    described = train(
        TrainingConfig(
            folder=options.out / "training",
            recipe=recipe,
            stages=(),
            max_steps=options.steps,
            agent=options.agent,
            starts=starts if situations else None,
            **known,
        )
    )
    return options.out / "training" / str(described["stages"][-1]["file"])


def test(options: argparse.Namespace, known: dict[str, str], agents: dict[str, Path]) -> tr.Run:
    """One campaign over both: games from the start of the level, suites, and a report that compares them."""
    config = tr.CampaignConfig(
        task="mario",
        options={"level": known["level"], "actions": known["actions"]},
        agents=tuple(tr.AgentConfig(source=str(path), name=name, epsilon=EPSILON) for name, path in agents.items()),
        effort=1.0,
        plain=tr.PlainConfig(episodes=options.games),
        search=tr.SearchConfig(probe_steps=options.probe_steps, references=1),
        safety=tr.SafetyConfig(suites=("simple",), states=options.states, repetitions=10, length=40),
        fuzzing=tr.FuzzingConfig(enabled=False),
        performance=tr.PerformanceConfig(enabled=False),
        report=tr.ReportConfig(videos=options.videos),
    )
    return tr.run_campaign(config, options.out / "run")


def tell(run: tr.Run) -> None:
    """What became of it: where games usually begin, and at the narrow places. Both, since one may hide the other."""
    plain = {name: run.plain[name].goal_rate for name in ("before", "after")}
    print(f"flags from the start of the level: {plain['before']:.2f} before, {plain['after']:.2f} after")
    found = tr.compare_safety(run.safety["simple"]["before"], run.safety["simple"]["after"])
    print(f"fails at boundary states: {found.difference:+.2f}", end="; ")
    print(f"cases: {len(found.newly_fixed)} fixed, {len(found.newly_failing)} newly failing")
    print(f"kinds of failure that are fixed or new: {run.report_path}")


def main() -> None:
    """Go on from one agent and compare the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent", type=Path, help="a trained agent, such as those in agents/mario")
    parser.add_argument("--out", type=Path, default=Path("runs/fix-mario"))
    parser.add_argument("--steps", type=int, default=2000, help="training steps, of all games together")
    parser.add_argument("--games", type=int, default=10, help="played before training, and by each agent afterwards")
    parser.add_argument("--steps-before", type=int, default=25, help="how far before a loss training begins")
    parser.add_argument("--share", type=float, default=0.5, help="of training games that begin there")
    parser.add_argument("--probe-steps", type=int, default=2000, help="to find boundary states")
    parser.add_argument("--states", type=int, default=10, help="boundary states to test at")
    parser.add_argument("--videos", type=int, default=4)
    # The preset's own are 15, 16, 512, 12, 300 and 8000.
    parser.add_argument("--workers", type=int, default=1, help="processes with games")
    parser.add_argument("--lanes", type=int, default=8, help="games that take turns in each")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--updates", type=int, default=1, help="for each step of all games")
    parser.add_argument("--burn-in-ticks", type=int, default=50, help="steps of all games before the first update")
    parser.add_argument("--memory-ticks", type=int, default=1000, help="steps of all games that are remembered")
    options = parser.parse_args()
    known = trained_for(options.agent)
    tell(test(options, known, {"before": options.agent, "after": go_on(options, known)}))


if __name__ == "__main__":
    main()
