"""Item 6: episodes per second of other tools, where they are installed, on the same agent and episodes."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from benchmarks.efficiency import Balance, cartpole_rollouts
from benchmarks.measuring import Figure, busy

import tightrope as tr


def figures(*, quick: bool) -> Iterator[Figure]:
    """SB3's evaluate_policy and mdpfuzz's random testing, both on CartPole."""
    episodes = 100 if quick else 400
    if importlib.util.find_spec("stable_baselines3"):
        yield _against_sb3(episodes)
    else:
        yield Figure(item=6, name="against SB3 evaluate_policy", value=None, unit="×", note="not installed")
    if importlib.util.find_spec("mdpfuzz"):
        yield _against_mdpfuzz(episodes)
    else:
        yield Figure(item=6, name="against mdpfuzz random testing", value=None, unit="×", note="not installed")


class InSeedOrder(gym.Wrapper[Any, Any, Any, Any]):
    """Begins its episodes with the seeds 0, 1, 2, …, as the rollouts do."""

    seed = 0

    def reset(self, **options: Any) -> Any:
        self.seed += 1
        return self.env.reset(seed=self.seed - 1)


def _against_sb3(episodes: int) -> Figure:
    from stable_baselines3 import PPO
    from stable_baselines3.common.evaluation import evaluate_policy

    model = PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu", n_steps=512).learn(6_000)
    task = tr.make_task("CartPole-v1")
    env = InSeedOrder(gym.make("CartPole-v1"))
    began = busy()
    theirs, _ = evaluate_policy(model, env, n_eval_episodes=episodes, deterministic=True, warn=False)
    their_rate = episodes / (busy() - began)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.zip")
        agent = tr.load_agent(str(Path(folder) / "model.zip"), task)
    rollouts = [tr.Rollout(start=tr.ActionTrace(task.label, seed), agent=agent.name) for seed in range(episodes)]
    with tr.Engine(task, {agent.name: agent}) as engine:
        began = busy()
        found = engine.run(rollouts)
        rate = episodes / (busy() - began)
    ours = float(np.mean([episode.total_reward for episode in found]))
    return Figure(
        item=6, name="times the episodes per second of SB3 evaluate_policy", value=rate / their_rate, unit="×",
        aim="> 1 ×", met=rate > their_rate,
        note=f"{rate:.0f} and {their_rate:.0f} a second, mean return {ours:.1f} and {theirs:.1f}",
    )  # fmt: skip


def _against_mdpfuzz(episodes: int) -> Figure:
    from mdpfuzz.executor import Executor
    from mdpfuzz.mdpfuzz import Fuzzer

    agent = Balance()

    class OnCartPole(Executor):
        """One episode from a start state, as mdpfuzz's own use cases do it."""

        def mutate(self, input: Any, rng: Any, **options: Any) -> Any:
            return input + rng.normal(size=4) * 0.01

        def generate_input(self, rng: Any) -> Any:
            return rng.uniform(-0.05, 0.05, 4)

        def generate_inputs(self, rng: Any, n: int) -> Any:
            return rng.uniform(-0.05, 0.05, (n, 4))

        def load_policy(self, **options: Any) -> Any:
            return agent

        def execute_policy(self, input: Any, policy: Any) -> Any:
            env.reset(seed=0)
            env.unwrapped.state = input
            observation, seen, total, over = np.array(input, np.float32), [], 0.0, False
            while not over:
                seen.append(observation)
                (action,) = policy.act([observation], [None], [None], [None]).actions
                observation, reward, terminated, truncated, _ = env.step(action)
                total, over = total + float(reward), terminated or truncated
            return total, bool(terminated), np.array(seen), 0.0

    env = gym.make("CartPole-v1")
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(0, 5, 0.1, 0.1, OnCartPole(500))
        began = busy()
        fuzzer.random_testing(episodes, agent, path=os.path.join(folder, "log"))
        their_rate = episodes / (busy() - began)
    task = tr.make_task("CartPole-v1")
    with tr.Engine(task, {"balance": agent}) as engine:
        began = busy()
        engine.run(cartpole_rollouts(task, episodes))
        rate = episodes / (busy() - began)
    return Figure(
        item=6, name="times the episodes per second of mdpfuzz random testing", value=rate / their_rate, unit="×",
        aim="> 1 ×", met=rate > their_rate, note=f"{rate:.0f} and {their_rate:.0f} a second",
    )  # fmt: skip
