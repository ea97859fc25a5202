"""How an agent is trained: the hyper-parameters, and what is asked of one training run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from tightrope.errors import UnknownName, UsageError
from tightrope_mario.game.actions import action_names
from tightrope_mario.game.levels import find_level
from tightrope_mario.game.rewards import DEATH, find_reward
from tightrope_mario.training import defaults
from tightrope_mario.training.export import read_onnx
from tightrope_mario.training.starts import Starts

STAIRS = 10


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Hyper-parameters of double deep Q-learning. A *tick* is one step in every game at once."""

    workers: int
    """Processes that emulate."""
    lanes: int
    """Games that take turns in each process."""
    discount: float
    n_step: int
    """Steps of real reward before the estimate of the rest."""
    reward_scale: float
    """Rewards are multiplied by this before learning; returns in the log are not."""
    learning_rate: float
    batch: int
    updates: int
    """Gradient steps each time it learns."""
    learn_every: int
    """Ticks between learning."""
    target_every: int
    """Updates after which the target network becomes a copy of the learning one."""
    memory_ticks: int
    """Ticks kept for replay; times the number of games this is the size of the memory."""
    burn_in_ticks: int
    """Ticks played before the first update."""
    first_exploration: float
    """Share of random actions at the beginning."""
    exploration_decay: float
    """The share is multiplied by this after every step of a game."""
    last_exploration: tuple[float, float]
    """Where the decay ends: the boldest game's share and the most careful one's; games between are spread by powers."""
    patience: int | None
    """Steps without getting further after which an episode is cut; None: never."""
    cut_reward: float
    """What such a cut counts for in learning, on top of the step's reward; returns in the log leave it out."""
    last_learning_rate: float | None = None
    """Where the learning rate ends, going down in ten stairs, in a training of a given number of steps or seconds;
    None: as it began."""
    slips: float = 0.0
    """The share of random actions that values count with. Above 0 the agent learns to keep away from where one such
    action would be the end."""
    averaging: float = 0.0
    """The exported network is a running mean of the learning one that keeps this part of itself at every update; 0:
    the learning one as it is. From one update to the next a network plays now better, now worse; its mean hardly."""

    rewind: float = 0.0
    """The share of lost games after which the next one begins shortly before the loss. What the agent loses today is
    so what it learns from today; situations of a file grow old while it learns."""
    rewind_steps: tuple[int, int] = (8, 60)
    """So many steps before: the fewest and the most."""

    def learning_rate_at(self, part: float) -> float:
        """The learning rate when this part of the training is over."""
        if self.last_learning_rate is None:
            return self.learning_rate
        stair = min(int(part * STAIRS), STAIRS - 1) / (STAIRS - 1)
        return self.learning_rate + stair * (self.last_learning_rate - self.learning_rate)

    @property
    def games(self) -> int:
        """How many are played at the same time."""
        return self.workers * self.lanes


PRESETS = {
    # γ, ε, burn-in, batch, memory, learning and synchronisation intervals as printed in the paper; one game.
    "paper": Recipe(
        workers=1,
        lanes=1,
        discount=0.9,
        n_step=1,
        reward_scale=1.0,
        learning_rate=2.5e-4,
        batch=20,
        updates=1,
        learn_every=3,
        target_every=1000,
        memory_ticks=30_000,
        burn_in_ticks=100,
        first_exploration=1.0,
        exploration_decay=0.9999995,
        last_exploration=(0.1, 0.1),
        patience=None,
        cut_reward=0.0,
    ),
    # Many games with exploration spread over them, larger batches and 3-step returns: minutes instead of days.
    # Level 1-2 after 0.66 million steps: 20 % flags; 1 % with 8 updates, a copy every 2000, patience 200 (a run each).
    "fast": Recipe(
        workers=15,
        lanes=16,
        discount=0.95,
        n_step=3,
        reward_scale=1 / 20,
        learning_rate=2.5e-4,
        batch=512,
        updates=12,
        learn_every=1,
        target_every=1000,
        memory_ticks=8000,
        burn_in_ticks=100,
        first_exploration=1.0,
        exploration_decay=0.995,
        last_exploration=(0.4, 0.01),
        patience=80,
        cut_reward=0.0,
    ),
}
# The sparse reward comes seldom and is small, so it is looked for further ahead and scaled down less. Standing still
# costs nothing until the clock has run out, and Mario dies of it; unless a cut counts as that death, agents learn to.
PRESETS["fast-sparse"] = replace(
    PRESETS["fast"], discount=0.99, n_step=5, reward_scale=0.2, target_every=500, cut_reward=DEATH
)

# What a trained agent goes on with: smaller steps that end smaller, and fewer random actions, which values count with.
for reward in ("", "-sparse"):
    PRESETS[f"continue{reward}"] = replace(
        PRESETS[f"fast{reward}"],
        burn_in_ticks=300,
        learning_rate=1e-4,
        last_learning_rate=1e-5,
        last_exploration=(0.2, 0.005),
        slips=0.05,
        averaging=0.999,
    )


def default_preset(reward: str, *, goes_on: bool = False) -> str:
    """The preset to train with where none is named."""
    return ("continue" if goes_on else "fast") + ("-sparse" if reward == "sparse" else "")


STANDARD = {"level": defaults.LEVEL, "actions": defaults.ACTIONS, "reward": defaults.REWARD}
"""What is trained for where nothing is said."""


def trained_for(agent: Path | None, **asked: str | None) -> dict[str, str]:
    """Level, actions and reward: as asked for, else those of the agent that goes on, else the usual ones."""
    known = {} if agent is None else read_onnx(agent)[1]
    chosen = {name: asked.get(name) or known.get(name) or usual for name, usual in STANDARD.items()}
    if known and known.get("actions") != chosen["actions"]:
        raise UsageError(f"{agent} plays with {known.get('actions')}; it cannot go on with {chosen['actions']}")
    return chosen


def parse_changes(settings: Sequence[str]) -> dict[str, Any]:
    """Numbers of a preset from texts such as ``updates=8``, ``patience=null`` or ``last_exploration=[0.2, 0.01]``."""
    kinds, changes = get_type_hints(Recipe), {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--set takes NAME=VALUE, not {setting!r}; for example --set updates=8")
        if name not in kinds:
            raise UnknownName("number of a training preset", name, kinds)
        try:
            changes[name] = TypeAdapter(kinds[name]).validate_json(value)
        except ValidationError as error:
            usual = json.dumps(asdict(PRESETS["continue"])[name])
            raise UsageError(
                f"--set {setting}: {name} has no such value; in the preset continue it is {usual}"
            ) from error
    return changes


def find_recipe(name: str, **changes: Any) -> Recipe:
    """A preset, with some of its numbers changed."""
    if name not in PRESETS:
        raise UnknownName("training preset", name, PRESETS)
    recipe = replace(PRESETS[name], **changes)
    too_short = recipe.memory_ticks <= recipe.n_step + 8 or recipe.burn_in_ticks <= recipe.n_step
    if too_short or min(recipe.workers, recipe.lanes, recipe.batch) < 1:
        raise UsageError(f"this recipe cannot learn, its memory, burn-in or number of games is too small: {recipe}")
    return recipe


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """One training run. It ends at whichever limit comes first."""

    folder: Path
    """Receives the checkpoint, the exported agents and the log; an earlier run there is continued."""
    level: str = defaults.LEVEL
    actions: str = defaults.ACTIONS
    reward: str = defaults.REWARD
    recipe: Recipe = field(default_factory=lambda: PRESETS["fast"])
    stages: tuple[int, ...] = defaults.STAGES
    """Numbers of episodes after which the agent is exported."""
    max_episodes: int = defaults.MAX_EPISODES
    max_steps: int | None = None
    """Of all games together, of this training and its continuations."""
    max_seconds: float | None = None
    """Of this call; a later call goes on from the checkpoint."""
    checkpoint_seconds: float = 120.0
    log_seconds: float = 10.0
    device: str = defaults.DEVICE
    """``"cpu"``, ``"cuda"``, or the GPU if there is one."""
    seed: int = 0
    rom: str | None = None
    agent: Path | None = None
    """An exported agent to go on from, instead of a new network."""
    starts: Starts | None = None
    """Situations that a share of the games begin in."""

    def __post_init__(self) -> None:
        find_level(self.level)
        find_reward(self.reward)
        action_names(self.actions)
        if self.max_episodes < 1 or any(stage < 1 for stage in self.stages):
            raise UsageError(f"episodes are counted from 1: max_episodes={self.max_episodes}, stages={self.stages}")

    @property
    def name(self) -> str:
        """As in ``"1-1-dense-2-moves"``; exported agents are named after it."""
        return f"{self.level}-{self.reward}-{self.actions}"

    def described(self) -> dict[str, Any]:
        """What a reader needs to train the same agent again."""
        described = asdict(replace(self, starts=None))
        for local in ("folder", "rom", "checkpoint_seconds", "log_seconds"):
            del described[local]
        described["agent"] = None if self.agent is None else self.agent.name
        described["starts"] = None if self.starts is None else self.starts.described()
        return described
