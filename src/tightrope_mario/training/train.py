"""Train an agent for Super Mario Bros.: ``python -m tightrope_mario.training.train --folder runs/agent``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tightrope.errors import UsageError
from tightrope_mario.game.actions import ACTION_SETS
from tightrope_mario.game.levels import LEVEL_NAMES
from tightrope_mario.game.rewards import REWARDS
from tightrope_mario.training import defaults
from tightrope_mario.training.games import Games, GameSettings
from tightrope_mario.training.recipe import PRESETS, Recipe, TrainingConfig, default_preset, find_recipe
from tightrope_mario.training.session import CHECKPOINT, DESCRIPTION, Session
from tightrope_mario.training.starts import starts_from

WHOLE_CHANGES = (
    "workers", "lanes", "batch", "updates", "n_step", "target_every", "memory_ticks", "burn_in_ticks", "patience",
)  # fmt: skip
REAL_CHANGES = (
    "learning_rate", "last_learning_rate", "discount", "exploration_decay", "reward_scale", "cut_reward", "slips",
    "averaging",
)  # fmt: skip


def train(config: TrainingConfig) -> dict[str, Any]:
    """Train until a limit of the config is reached; returns (and writes) the description of what was trained."""
    config.folder.mkdir(parents=True, exist_ok=True)
    _refuse_another_training(config)
    recipe = config.recipe
    settings = GameSettings(
        level=config.level,
        actions=config.actions,
        reward=config.reward,
        patience=recipe.patience,
        cut_reward=recipe.cut_reward,
        rom=config.rom,
        starts=() if config.starts is None else config.starts.ways,
    )
    games = Games(settings, recipe.workers, recipe.lanes)
    try:
        return Session(config, games).run()
    finally:
        games.close()


def _refuse_another_training(config: TrainingConfig) -> None:
    """A checkpoint is gone on from, and the agent would bear the name of a level or reward it hardly met."""
    description = config.folder / DESCRIPTION
    if not (config.folder / CHECKPOINT).exists() or not description.exists():
        return
    earlier = json.loads(description.read_text())["config"]
    changed = [
        f"{name} was {earlier[name]}, now {getattr(config, name)}"
        for name in ("level", "actions", "reward")
        if earlier[name] != getattr(config, name)
    ]
    if changed:
        raise UsageError(
            f"{config.folder} holds the training of another agent ({'; '.join(changed)}); give the same to continue "
            f"it, or another folder"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and train."""
    train(parse(arguments))


def parse(arguments: Sequence[str] | None = None) -> TrainingConfig:
    """Turn command-line arguments into a config."""
    parser = argparse.ArgumentParser(prog="python -m tightrope_mario.training.train", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where checkpoint, agents and log go")
    parser.add_argument("--level", choices=LEVEL_NAMES, default=defaults.LEVEL, metavar="LEVEL")
    parser.add_argument("--actions", choices=sorted(ACTION_SETS), default=defaults.ACTIONS)
    parser.add_argument("--reward", choices=sorted(REWARDS), default=defaults.REWARD)
    parser.add_argument("--preset", choices=sorted(PRESETS), help="default: fast, or continue; with -sparse for it")
    parser.add_argument("--stages", type=int, nargs="*", default=defaults.STAGES)
    parser.add_argument("--max-episodes", type=int, default=defaults.MAX_EPISODES)
    parser.add_argument("--max-steps", type=int)
    parser.add_argument("--max-seconds", type=float)
    parser.add_argument("--log-seconds", type=float, default=TrainingConfig.log_seconds)
    parser.add_argument("--device", default=defaults.DEVICE)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rom")
    parser.add_argument("--continue", type=Path, dest="agent", metavar="AGENT", help="an exported agent to go on from")
    parser.add_argument("--situations", type=Path, help="a run, suite or trace file with situations to begin games in")
    parser.add_argument(
        "--situation-actions", choices=sorted(ACTION_SETS), help="what the numbers in a file press; default: --actions"
    )
    parser.add_argument("--share", type=float, default=defaults.SHARE, help="of games that begin in one")
    parser.add_argument("--weights", default=defaults.WEIGHTS, help="how one is chosen: equal, fails or adaptive")
    numbers = parser.add_argument_group("changes to the preset")
    numbers.add_argument("--last-exploration", type=float, nargs=2, metavar=("BOLDEST", "MOST_CAREFUL"))
    for name in WHOLE_CHANGES:
        numbers.add_argument(f"--{name.replace('_', '-')}", type=int)
    for name in REAL_CHANGES:
        numbers.add_argument(f"--{name.replace('_', '-')}", type=float)
    given = vars(parser.parse_args(arguments))
    changes = {name: given.pop(name) for name in list(given) if name in Recipe.__dataclass_fields__}
    if changes["last_exploration"] is not None:
        changes["last_exploration"] = tuple(changes["last_exploration"])
    situations, numbered, share, weights = (
        given.pop(name) for name in ("situations", "situation_actions", "share", "weights")
    )
    if situations is not None:
        given["starts"] = starts_from(
            situations, given["level"], numbered or given["actions"], share=share, weights=weights
        )
    recipe = find_recipe(
        given.pop("preset") or default_preset(given["reward"], goes_on=given["agent"] is not None), **changes
    )
    return TrainingConfig(recipe=recipe, **{**given, "stages": tuple(given["stages"])})


if __name__ == "__main__":
    main()
