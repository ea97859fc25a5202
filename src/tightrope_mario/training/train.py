"""Train an agent for Super Mario Bros."""

from __future__ import annotations

import json
from typing import Any

from tightrope.errors import UsageError
from tightrope_mario.training.games import Games, GameSettings
from tightrope_mario.training.recipe import TrainingConfig
from tightrope_mario.training.session import CHECKPOINT, DESCRIPTION, Session


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
        rewinds=recipe.rewind_steps[1] if recipe.rewind else 0,
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
