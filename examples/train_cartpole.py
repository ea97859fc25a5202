"""Two Stable-Baselines3 archives to try things out with: PPO on CartPole, early.zip and late.zip, in under a minute.

    python examples/train_cartpole.py [--early 4000] [--late 40000] [--out .]

Needs ``pip install '.[sb3]'``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from stable_baselines3 import PPO


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--early", type=int, default=4_000, help="training steps of early.zip")
    parser.add_argument("--late", type=int, default=40_000, help="training steps of late.zip")
    parser.add_argument("--out", type=Path, default=Path(), help="where the archives go")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # so small a network is slowed down by more
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=256, seed=0, device="cpu")
    model.learn(options.early).save(options.out / "early.zip")
    model.learn(options.late - options.early).save(options.out / "late.zip")


if __name__ == "__main__":
    main()
