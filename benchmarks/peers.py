"""Item 6: episodes per second of other tools, where they are installed, on the same agent and episodes."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from benchmarks.efficiency import Balance
from benchmarks.measuring import NOT_INSTALLED, Figure, busy

import tightrope as tr


def figures(*, quick: bool) -> Iterator[Figure]:
    """SB3's evaluate_policy and mdpfuzz's random testing on CartPole."""
    episodes = 100 if quick else 400
    if not importlib.util.find_spec("stable_baselines3"):
        yield Figure(item=6, name="against SB3 evaluate_policy", value=None, unit="×", note=NOT_INSTALLED)
        return
    import torch
    from stable_baselines3 import PPO

    torch.set_num_threads(1)  # threads that wait for each other on a busy machine are no work of anybody's
    model = PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu", n_steps=512).learn(6_000)
    task = tr.make_task("CartPole-v1")
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.zip")
        agent = tr.load_agent(str(Path(folder) / "model.zip"), task)
    yield from _against_sb3(model, agent, episodes)
    if importlib.util.find_spec("mdpfuzz"):
        yield _against_mdpfuzz(
            "the PPO agent", lambda seen: int(model.predict(seen, deterministic=True)[0]), agent, episodes, aim=1
        )
        leaning = Balance()
        yield _against_mdpfuzz(
            "an agent that costs nothing", lambda seen: int(seen @ leaning.weights > 0), leaning, episodes, aim=1.25
        )
    else:
        yield Figure(item=6, name="against mdpfuzz random testing", value=None, unit="×", note=NOT_INSTALLED)


def _our_rate(agent: Any, episodes: int) -> tuple[float, float, Any]:
    """Episodes per second from the reset seeds 0, 1, 2, …, their mean return, and what was spent."""
    task = tr.make_task("CartPole-v1")
    rollouts = [tr.Rollout(start=tr.ActionTrace(task.label, seed), agent=agent.name) for seed in range(episodes)]
    with tr.Engine(task, {agent.name: agent}) as engine:
        began = busy()
        found = engine.run(rollouts)
        rate = episodes / (busy() - began)
        return rate, float(np.mean([episode.total_reward for episode in found])), engine.counters


class InSeedOrder(gym.Wrapper[Any, Any, Any, Any]):
    """Begins its episodes with the seeds 0, 1, 2, …, as the rollouts do."""

    seed = 0

    def reset(self, **options: Any) -> Any:
        self.seed += 1
        return self.env.reset(seed=self.seed - 1)


def _against_sb3(model: Any, agent: Any, episodes: int) -> Iterator[Figure]:
    from stable_baselines3.common.evaluation import evaluate_policy

    env = InSeedOrder(gym.make("CartPole-v1"))
    began = busy()
    theirs, _ = evaluate_policy(model, env, n_eval_episodes=episodes, deterministic=True, warn=False)
    their_rate = episodes / (busy() - began)
    rate, ours, spent = _our_rate(agent, episodes)
    yield Figure(
        item=6, name="times the episodes per second of SB3 evaluate_policy", value=rate / their_rate, unit="×",
        aim="≥ 10 ×", met=rate >= 10 * their_rate,
        note=f"{rate:.0f} and {their_rate:.0f} a second, mean return {ours:.1f} and {theirs:.1f}",
    )  # fmt: skip
    yield Figure(
        item=6, name="observations for each call of the PPO network", value=spent.mean_batch, unit="", aim="≥ 10",
        met=(spent.mean_batch or 0) >= 10,
        note=f"{spent.observations_answered} observations in {spent.agent_queries} calls, and {agent.asked_again} of "
        f"them once more, alone; whether batch sizes agree bit for bit does not matter",
    )  # fmt: skip


def _against_mdpfuzz(name: str, choose: Callable[[Any], int], agent: Any, episodes: int, *, aim: float) -> Figure:
    from mdpfuzz.executor import Executor
    from mdpfuzz.mdpfuzz import Fuzzer

    class OnCartPole(Executor):
        """One episode from a start state, as mdpfuzz's own use cases do it."""

        def mutate(self, input: Any, rng: Any, **options: Any) -> Any:
            return input + rng.normal(size=4) * 0.01

        def generate_input(self, rng: Any) -> Any:
            return rng.uniform(-0.05, 0.05, 4)

        def generate_inputs(self, rng: Any, n: int) -> Any:
            return rng.uniform(-0.05, 0.05, (n, 4))

        def load_policy(self, **options: Any) -> Any:
            return choose

        def execute_policy(self, input: Any, policy: Any) -> Any:
            env.reset(seed=0)
            env.unwrapped.state = input
            observation, seen, total, over = np.array(input, np.float32), [], 0.0, False
            while not over:
                seen.append(observation)
                observation, reward, terminated, truncated, _ = env.step(policy(observation))
                total, over = total + float(reward), terminated or truncated
            return total, bool(terminated), np.array(seen), 0.0

    env = gym.make("CartPole-v1")
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(0, 5, 0.1, 0.1, OnCartPole(500))
        began = busy()
        fuzzer.random_testing(episodes, choose, path=os.path.join(folder, "log"))
        their_rate = episodes / (busy() - began)
    rate, _, _ = _our_rate(agent, episodes)
    return Figure(
        item=6, name=f"times the episodes per second of mdpfuzz random testing, {name}", value=rate / their_rate,
        unit="×", aim=f"≥ {aim:g} ×", met=rate >= aim * their_rate, note=f"{rate:.0f} and {their_rate:.0f} a second",
    )  # fmt: skip
