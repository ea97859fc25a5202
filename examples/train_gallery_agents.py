"""Trains the small agents under agents/gallery and writes them as .onnx files: an early and a late one for each task.

    pip install '.[sb3,torch,onnx,atari,mujoco,box2d,minigrid,highway]'
    python examples/train_gallery_agents.py            # all of them, less than an hour on one core
    python examples/train_gallery_agents.py frozenlake  # one of them

The same seeds give the same files on the same machine and library versions. The agents are good, not perfect: what they
get wrong is what the gallery of the documentation shows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import onnx
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, FlattenExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import tightrope as tr

FOLDER = Path(__file__).parent.parent / "agents" / "gallery"
SEED = 0
CHICKEN, CARS = 14, slice(108, 118)
"""Addresses of the chicken's height and the cars' places in Freeway's memory."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the agents of one task are trained."""

    task: str
    options: dict[str, Any] = field(default_factory=dict)
    steps: tuple[int, int]
    """Training steps of the early and of the late agent."""
    reward: Callable[[tr.Transition, tr.Transition], float] = lambda before, after: after.reward
    penalty: float = 0.0
    """What a violation of safety costs."""
    idle_starts: int = 0
    """Where every episode starts the same: it is trained from the situations after waiting so many steps or fewer."""
    normalised: bool = False
    ppo: dict[str, Any] = field(default_factory=dict)


def crossing(before: tr.Transition, after: tr.Transition) -> float:
    """Every step upwards counts a little, arriving more; waiting costs next to nothing."""
    climbed = after.info["memory"][CHICKEN] - before.info["memory"][CHICKEN]
    return (2.0 if after.reward else float(np.clip(climbed, -8, 8)) / 40) - 0.002


class Road(BaseFeaturesExtractor):
    """The cars as seen from the height of the chicken: a feature for each pair of a height and a car's place."""

    def __init__(self, space: gym.Space[Any]) -> None:
        super().__init__(space, features_dim=11 * 10 * 8)
        self.register_buffer("heights", torch.arange(11) * 16.0 + 16.0)
        self.register_buffer("places", torch.arange(8) * 20.0 + 10.0)

    def forward(self, memory: torch.Tensor) -> torch.Tensor:
        height = (1 - (memory[:, CHICKEN : CHICKEN + 1] - self.heights).abs() / 16).clamp(min=0)
        cars = (1 - (memory[:, CARS, None] - self.places).abs() / 20).clamp(min=0)
        return (height[:, :, None] * cars.flatten(1)[:, None, :]).flatten(1)


class Cells(BaseFeaturesExtractor):
    """What the walker sees, cell by cell: wall, green square or lava."""

    def __init__(self, space: gym.Space[Any]) -> None:
        super().__init__(space, features_dim=7 * 7 * 3)
        self.register_buffer("kinds", torch.tensor([2.0, 8.0, 9.0]))

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        # In training the channels come first, in the environment last.
        kinds = seen[:, 0] if seen.shape[1] == 3 else seen[..., 0]
        return (kinds[..., None] == self.kinds).float().flatten(1)


RECIPES = {
    "frozenlake": Recipe(
        task="FrozenLake-v1",
        steps=(12_000, 120_000),
        ppo={"gamma": 0.99, "ent_coef": 0.01, "n_steps": 256, "learning_rate": 1e-3},
    ),
    "cartpole": Recipe(
        task="CartPole-v1",
        steps=(5_000, 60_000),
        ppo={"n_steps": 128, "gae_lambda": 0.8, "gamma": 0.98, "learning_rate": 1e-3},
    ),
    "freeway": Recipe(
        task="ALE/Freeway-v5",
        options={"obs_type": "ram"},
        steps=(5_000, 60_000),
        reward=crossing,
        penalty=2.0,
        idle_starts=50,
        ppo={
            "n_steps": 128,
            "batch_size": 256,
            "gamma": 0.95,
            "ent_coef": 0.005,
            "learning_rate": 1e-3,
            "policy_kwargs": {"features_extractor_class": Road, "net_arch": [64]},
        },
    ),
    "hopper": Recipe(
        task="Hopper-v5",
        steps=(8_000, 60_000),
        normalised=True,
        ppo={"n_steps": 256, "batch_size": 256, "gamma": 0.98, "learning_rate": 3e-4},
    ),
    "lunarlander": Recipe(
        task="LunarLander-v3",
        steps=(60_000, 500_000),
        ppo={
            "n_steps": 512,
            "batch_size": 256,
            "n_epochs": 6,
            "gamma": 0.995,
            "gae_lambda": 0.98,
            "ent_coef": 0.005,
            "learning_rate": 7e-4,
        },
    ),
    "minigrid": Recipe(
        task="MiniGrid-LavaCrossingS9N1-v0",
        options={"observation": "image"},
        steps=(60_000, 400_000),
        ppo={
            "n_steps": 256,
            "batch_size": 256,
            "gamma": 0.97,
            "ent_coef": 0.01,
            "learning_rate": 7e-4,
            "policy_kwargs": {"features_extractor_class": Cells, "normalize_images": False},
        },
    ),
    "highway": Recipe(
        task="highway-fast-v0",
        steps=(2_000, 20_000),
        ppo={"n_steps": 64, "gamma": 0.8, "learning_rate": 5e-4},
    ),
}


class TaskEpisodes(gym.Wrapper[Any, Any, Any, Any]):
    """Ends an episode where the task does: at the goal, or at the first violation of safety."""

    def __init__(self, env: gym.Env[Any, Any], task: tr.Task, recipe: Recipe) -> None:
        super().__init__(env)
        self.task, self.recipe = task, recipe

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**options)
        self.latest = tr.Transition(observation, 0.0, False, False, info)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        now = tr.Transition(*self.env.step(action))
        reward, self.latest = self.recipe.reward(self.latest, now), now
        unsafe = self.task.unsafe(now)
        reward -= self.recipe.penalty * unsafe
        return now.observation, float(reward), now.terminated or unsafe or self.task.goal(now), now.truncated, now.info


class FromSnapshots(gym.Env[Any, Any]):
    """Starts episodes from saved situations, which spares resetting and waiting."""

    def __init__(self, task: tr.Task, recipe: Recipe) -> None:
        self.recipe, self.simulator = recipe, tr.open_simulator(task)
        self.observation_space, self.action_space = task.observation_space, task.action_space
        self.simulator.reset()
        self.starts = [self.simulator.save()]
        for _ in range(recipe.idle_starts - 1):
            self.simulator.step(0)
            self.starts.append(self.simulator.save())

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.simulator.load(self.starts[self.np_random.integers(len(self.starts))])
        return self.simulator.observation, dict(self.simulator.info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before, now = self.simulator.transition, self.simulator.step(int(action))
        outcome = self.simulator.outcome
        reward = self.recipe.reward(before, now) - self.recipe.penalty * (outcome is tr.Outcome.UNSAFE)
        truncated = outcome is tr.Outcome.TRUNCATED
        return now.observation, reward, outcome.terminal and not truncated, truncated, dict(now.info)


class Exported(torch.nn.Module):
    """A policy from raw observations to logits, or to mean and logarithm of the standard deviation."""

    def __init__(self, model: PPO) -> None:
        super().__init__()
        self.policy, self.cells = model.policy, getattr(model.observation_space, "n", None)
        statistics = model.get_vec_normalize_env()
        self.normalised = statistics is not None
        if statistics is not None:
            scale = np.sqrt(statistics.obs_rms.var + statistics.epsilon)
            self.register_buffer("mean", torch.tensor(statistics.obs_rms.mean, dtype=torch.float32))
            self.register_buffer("scale", torch.tensor(scale, dtype=torch.float32))
            self.clip = statistics.clip_obs

    def forward(self, observation: torch.Tensor) -> Any:
        if self.cells is not None:
            features = torch.nn.functional.one_hot(observation, int(self.cells)).float()
        else:
            features = observation.float()
        if self.normalised:
            features = ((features - self.mean) / self.scale).clamp(-self.clip, self.clip)
        if not isinstance(self.policy.features_extractor, FlattenExtractor):
            features = self.policy.features_extractor(features)
        else:
            features = features.flatten(1)
        answer = self.policy.action_net(self.policy.mlp_extractor.forward_actor(features))
        if isinstance(self.policy.action_space, gym.spaces.Box):
            return answer, self.policy.log_std.expand_as(answer)
        return answer


def training_environment(task: tr.Task, recipe: Recipe) -> gym.Env[Any, Any]:
    """The task as an environment to learn in."""
    return FromSnapshots(task, recipe) if recipe.idle_starts else TaskEpisodes(task.make_env(), task, recipe)


def train(name: str, recipe: Recipe) -> None:
    """Train one agent and write it twice on the way."""
    task = tr.make_task(recipe.task, **recipe.options)
    environments: Any = DummyVecEnv([lambda: training_environment(task, recipe) for _ in range(8)])
    if recipe.normalised:
        environments = VecNormalize(environments, gamma=recipe.ppo["gamma"])
    model = PPO("MlpPolicy", environments, seed=SEED, device="cpu", **recipe.ppo)
    for stage, steps in zip(("early", "late"), recipe.steps, strict=True):
        model.learn(steps - model.num_timesteps, reset_num_timesteps=False)
        path = export(model, FOLDER / f"{name}-{stage}.onnx", task, steps=steps)
        print(f"{path.name}: {successes(path, task, recipe)} after {model.num_timesteps} steps", flush=True)


def export(model: PPO, path: Path, task: tr.Task, **metadata: Any) -> Path:
    """Write the policy as a network that needs neither torch nor Stable-Baselines3 to run."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    sample = torch.as_tensor(np.stack([task.observation_space.sample() for _ in range(2)]))
    outputs = ["mean", "log_std"] if isinstance(model.action_space, gym.spaces.Box) else ["scores"]
    axes = {key: {0: "n"} for key in ("observation", *outputs)}
    torch.onnx.export(
        Exported(model).eval(), (sample,), path, input_names=["observation"], output_names=outputs, dynamic_axes=axes,
        dynamo=False,
    )  # fmt: skip
    network = onnx.load(path)
    details = {"task": task.label, "algorithm": "PPO", "seed": SEED, **metadata}
    if isinstance(model.observation_space, gym.spaces.Discrete):
        details["observation_n"] = model.observation_space.n
    onnx.helper.set_model_props(network, {key: str(value) for key, value in details.items()})
    onnx.save(network, path)
    return path


def successes(path: Path, task: tr.Task, recipe: Recipe, episodes: int = 50) -> str:
    """How many episodes reach the goal, each from another reset seed, or after waiting for another number of steps."""
    agent = tr.load_agent(path, task)
    starts = [tr.ActionTrace(task.label, seed) for seed in range(episodes)]
    if recipe.idle_starts:
        starts = [tr.ActionTrace(task.label, 0, (0,) * steps) for steps in range(episodes)]
    rollouts = [tr.Rollout(start=start, agent=agent.name, seed=start.seed) for start in starts]
    with tr.Engine(task, {agent.name: agent}) as engine:
        outcomes = [episode.outcome for episode in engine.run(rollouts)]
    return f"{outcomes.count(tr.Outcome.GOAL)} of {episodes} reach the goal"


if __name__ == "__main__":
    torch.set_num_threads(1)
    for chosen in sys.argv[1:] or RECIPES:
        train(chosen, RECIPES[chosen])
