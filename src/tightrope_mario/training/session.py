"""A training as it goes: ticks, the log, exported agents, checkpoints."""

from __future__ import annotations

import csv
import json
import time
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tightrope.extending import StartChoice, derive_seed
from tightrope_mario.game.actions import action_names
from tightrope_mario.training.exploration import Exploration
from tightrope_mario.training.export import read_onnx, write_onnx
from tightrope_mario.training.games import Games
from tightrope_mario.training.learner import QLearner
from tightrope_mario.training.memory import choose_device
from tightrope_mario.training.recipe import TrainingConfig
from tightrope_mario.training.rewinding import Rewinding
from tightrope_mario.training.starts import Starts, earlier_frames

CHECKPOINT, LOG, DESCRIPTION = "checkpoint.pt", "training-log.csv", "training.json"
RECENT_EPISODES = 500
ENDLESS = 10**6
"""Ticks after which exploration has surely gone down to what it ends with."""
CAREFUL = 0.05
"""Games that explore less than this show what the agent itself can do."""
LOG_COLUMNS = (
    "seconds", "steps", "episodes", "updates", "steps_per_second", "waiting", "exploration", "mean_loss",
    "recent_episodes", "mean_return", "mean_steps", "mean_x", "flags", "careful_episodes", "careful_flags",
    "situation_episodes", "situation_fails",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class EpisodeSummary:
    """How one training episode went."""

    total_reward: float
    steps: int
    x: int
    flag: bool
    careful: bool


@dataclass
class TrainingProgress:
    """Counters that a checkpoint keeps, and the latest episodes, which it does not."""

    steps: int = 0
    episodes: int = 0
    seconds: float = 0.0
    recent: deque[EpisodeSummary] = field(default_factory=lambda: deque(maxlen=RECENT_EPISODES))
    """From the start of the level; what begins elsewhere says nothing about how the agent does plainly."""
    fails_in_situations: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT_EPISODES))
    """Of the episodes that began in a situation: whether Mario died soon after."""

    def counters(self) -> dict[str, float]:
        """What goes into the checkpoint."""
        return {"steps": self.steps, "episodes": self.episodes, "seconds": self.seconds}


class Session:
    """One call: games are played, the network learns, and what came of it is kept in the folder."""

    def __init__(self, config: TrainingConfig, games: Games) -> None:
        self.config, self.games = config, games
        self.began = time.monotonic()
        self.names = action_names(config.actions)
        self.device = choose_device(config.device)
        starts = config.starts
        earlier = earlier_frames(config.level, () if starts is None else starts.ways, config.rom)
        self.rewinding = Rewinding(config.recipe, len(earlier), derive_seed("mario rewinding", config.seed))
        self.choice = None if starts is None else _choice(starts, config.seed)
        self.situations = 0 if starts is None else len(starts.situations)
        self.watched = 0 if starts is None else starts.watched
        self.began_at = np.zeros(config.recipe.games, np.int32)
        self.learner = QLearner(
            config.recipe, len(self.names), self.device, config.seed, earlier, self.rewinding.places
        )
        self.progress = TrainingProgress()
        if config.agent is not None:
            self.learner.adopt(read_onnx(config.agent)[0], config.agent)
        if (config.folder / CHECKPOINT).exists():
            counters = self.learner.load(config.folder / CHECKPOINT)
            self.progress = TrainingProgress(int(counters["steps"]), int(counters["episodes"]), counters["seconds"])
        self.earlier_seconds = self.progress.seconds
        self.exploring = Exploration(config.recipe, config.seed + self.progress.steps)
        # An agent that goes on knows what the random actions at the beginning are to find out.
        self.exploring.skip(self.progress.steps // config.recipe.games if config.agent is None else ENDLESS)
        self.exported: list[dict[str, Any]] = self._earlier_exports()
        self.last_log, self.last_checkpoint = self.began, self.began
        self.steps_at_log = self.progress.steps
        self.waited = 0.0

    def run(self) -> dict[str, Any]:
        """Until a limit is reached; returns the description of what was trained."""
        # Before the first checkpoint, so that none is ever without what it is a checkpoint of.
        self._describe()
        self.games.finish_step()
        if self.choice is not None:
            self.games.board["start"][:] = [self.choice.draw() + 1 for _ in self.began_at]
        while not self._limit_reached():
            self._tick()
            self._export_due_stages()
            self._log_when_due()
            self._checkpoint_when_due()
        if not self.exported or self.exported[-1]["episodes"] != self.progress.episodes:
            self._export(self.progress.episodes)
        self._log()
        self._checkpoint()
        return self._describe()

    def _tick(self) -> None:
        board, learner = self.games.board, self.learner
        learner.memory.write_situation(board["frame"], board["age"], self.began_at)
        actions = self.exploring.choose(learner.greedy_actions(), len(self.names))
        board["rewind"][:] = self.rewinding.draw(learner.memory.now)
        self.games.start_step(actions)
        # The games are emulated in their own processes while the network learns from what they did before.
        self._learn()
        asked = time.monotonic()
        self.games.finish_step()
        self.waited += time.monotonic() - asked
        learner.memory.write_step(actions, board["reward"], board["over"])
        self._count(board)

    def _learn(self) -> None:
        recipe, now = self.config.recipe, self.learner.memory.now
        if now >= recipe.burn_in_ticks and now % recipe.learn_every == 0:
            self.learner.learn_at(recipe.learning_rate_at(self._part_over()))
            for _ in range(recipe.updates):
                self.learner.update()

    def _count(self, board: Any) -> None:
        progress = self.progress
        progress.steps += self.config.recipe.games
        progress.seconds = self.earlier_seconds + time.monotonic() - self.began
        for row in np.flatnonzero(board["over"]).tolist():
            progress.episodes += 1
            if not self.began_at[row]:
                progress.recent.append(self._summary(board, row))
            if self.choice is not None and 0 < self.began_at[row] <= self.situations:
                self._learn_where_to_begin(self.choice, board, row)
            self._begin_again(board, row)

    def _summary(self, board: Any, row: int) -> EpisodeSummary:
        return EpisodeSummary(
            total_reward=float(board["episode_return"][row]),
            steps=int(board["episode_steps"][row]),
            x=int(board["episode_x"][row]),
            flag=bool(board["episode_flag"][row]),
            careful=bool(self.exploring.share[row] < CAREFUL),
        )

    def _learn_where_to_begin(self, choice: StartChoice, board: Any, row: int) -> None:
        """Whether Mario died soon after the situation it began in, which adaptive weights follow."""
        failed = bool(board["episode_died"][row]) and board["episode_steps"][row] <= self.watched
        choice.learn(int(self.began_at[row]) - 1, failed=failed)
        self.progress.fails_in_situations.append(failed)

    def _begin_again(self, board: Any, row: int) -> None:
        """Where the episode that has begun did so; and where the next one begins, unless it is put back."""
        if board["rewound"][row]:
            self.began_at[row] = self.rewinding.place(row, self.learner.memory.now)
            self.learner.memory.write_earlier(int(self.began_at[row]), board["earlier"][row])
            return
        self.began_at[row] = board["start"][row]
        if self.choice is not None:
            board["start"][row] = self.choice.draw() + 1

    def _part_over(self) -> float:
        """How much of this training is over, by the limit that is nearest."""
        config, spent = self.config, time.monotonic() - self.began
        by_steps = 0.0 if config.max_steps is None else self.progress.steps / config.max_steps
        return max(by_steps, 0.0 if config.max_seconds is None else spent / config.max_seconds)

    def _limit_reached(self) -> bool:
        limit = self.config.max_seconds
        spent = limit is not None and time.monotonic() - self.began >= limit
        stepped = self.config.max_steps is not None and self.progress.steps >= self.config.max_steps
        return spent or stepped or self.progress.episodes >= self.config.max_episodes

    def _export_due_stages(self) -> None:
        done = self.exported[-1]["episodes"] if self.exported else 0
        if any(done < stage <= self.progress.episodes for stage in self.config.stages):
            self._export(self.progress.episodes)

    def _export(self, episodes: int) -> None:
        stage = {"file": f"{self.config.name}-{episodes}.onnx", "episodes": episodes, **self._row()}
        metadata = {
            "algorithm": "double DQN",
            "level": self.config.level,
            "reward": self.config.reward,
            "actions": self.config.actions,
            "action_names": ",".join(self.names),
            "episodes": str(episodes),
            "steps": str(self.progress.steps),
        }
        write_onnx(self.config.folder / stage["file"], self.learner.weights(), metadata, half=False)
        self.exported.append(stage)
        self._describe()

    def _describe(self) -> dict[str, Any]:
        description = {
            "config": self.config.described(),
            "device": self.device,
            "stages": self.exported,
            **self.progress.counters(),
        }
        (self.config.folder / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n")
        return description

    def _earlier_exports(self) -> list[dict[str, Any]]:
        path = self.config.folder / DESCRIPTION
        if not self.progress.episodes or not path.exists():
            return []
        stages = json.loads(path.read_text())["stages"]
        return [stage for stage in stages if stage["episodes"] <= self.progress.episodes]

    def _log_when_due(self) -> None:
        if time.monotonic() - self.last_log >= self.config.log_seconds:
            self._log()

    def _log(self) -> None:
        path = self.config.folder / LOG
        row = self._row()
        now = time.monotonic()
        row["steps_per_second"] = round((self.progress.steps - self.steps_at_log) / max(now - self.last_log, 1e-9))
        row["waiting"] = round(self.waited / max(now - self.last_log, 1e-9), 3)
        self.waited = 0.0
        loss = self.learner.mean_loss()
        row["mean_loss"] = None if loss is None else round(loss, 5)
        self.last_log, self.steps_at_log = now, self.progress.steps
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, LOG_COLUMNS, extrasaction="ignore", lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)
        print(", ".join(f"{name} {row[name]}" for name in LOG_COLUMNS if row.get(name) is not None), flush=True)

    def _row(self) -> dict[str, Any]:
        """Where training stands; what was not measured is None, never 0."""
        recent = self.progress.recent
        careful = [episode for episode in recent if episode.careful]
        return {
            "seconds": round(self.progress.seconds, 1),
            "steps": self.progress.steps,
            "episodes": self.progress.episodes,
            "updates": self.learner.updates,
            "exploration": round(float(self.exploring.share.mean()), 4),
            "recent_episodes": len(recent),
            "mean_return": _mean([episode.total_reward for episode in recent]),
            "mean_steps": _mean([episode.steps for episode in recent]),
            "mean_x": _mean([episode.x for episode in recent]),
            "flags": _mean([episode.flag for episode in recent]),
            "careful_episodes": len(careful),
            "careful_flags": _mean([episode.flag for episode in careful]),
            "situation_episodes": len(self.progress.fails_in_situations),
            "situation_fails": _mean(self.progress.fails_in_situations),
        }

    def _checkpoint_when_due(self) -> None:
        if time.monotonic() - self.last_checkpoint >= self.config.checkpoint_seconds:
            self._checkpoint()

    def _checkpoint(self) -> None:
        self.learner.save(self.config.folder / CHECKPOINT, self.progress.counters())
        self.last_checkpoint = time.monotonic()


def _choice(starts: Starts, seed: int) -> StartChoice:
    return StartChoice(starts.situations, starts.share, starts.weights, derive_seed("mario starts", seed))


def _mean(values: Collection[float]) -> float | None:
    return round(float(np.mean(list(values))), 3) if values else None
