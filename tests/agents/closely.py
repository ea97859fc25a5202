"""Run in a process of its own, whose processor may be limited: what an agent answers and plays, as one line each."""

from __future__ import annotations

import hashlib
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import torch

import tightrope as tr


class Leaning(torch.nn.Module):
    """A network for CartPole whose weights are drawn by NumPy, so that they are the same on every processor."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(3)
        widths = (4, 64, 64, 2)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(seen, said) for seen, said in pairwise(widths))
        with torch.no_grad():
            for layer in self.layers:
                for part in layer.parameters():
                    part.copy_(torch.from_numpy(rng.normal(0, 0.3, part.shape).astype(np.float32)))
        self.register_buffer("lean", torch.tensor([[0.0, 0.0], [-0.2, 0.2], [-1.0, 1.0], [-0.6, 0.6]]) * 20)

    def forward(self, observations: Any) -> Any:
        hidden = observations
        for layer in self.layers[:-1]:
            hidden = torch.tanh(layer(hidden))
        return self.layers[-1](hidden) + observations @ self.lean


def undecided(network: Any, number: int) -> np.ndarray:
    """Observations at which the network is about to change its mind: halved between two that it answers differently."""
    rng = np.random.default_rng(5)
    left, right = rng.normal(0, 0.2, (2, 4000, 4)).astype(np.float32)

    def choice(rows: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return network(torch.from_numpy(rows)).argmax(dim=1).numpy()

    differ = choice(left) != choice(right)
    left, right = left[differ][:number], right[differ][:number]
    for _ in range(40):
        middle = (left + right) / 2
        as_left = choice(middle) == choice(left)
        left[as_left], right[~as_left] = middle[as_left], middle[~as_left]
    return np.concatenate([left, right])


def digest(values: Any) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]


def main(close: str) -> None:
    task = tr.make_task("CartPole-v1", max_episode_steps=60)
    network, observations = Leaning(), list(np.load(close))
    scores = network(torch.from_numpy(np.stack(observations))).detach().numpy()
    print(digest(scores.argmax(axis=1).tolist()))
    for behaviour in ("greedy", "sampled"):
        agent = tr.load_agent(network, task, name=behaviour, behaviour=behaviour)
        streams = [np.random.default_rng(place) for place in range(len(observations))]
        nothing = [None] * len(observations)
        print(digest(list(agent.act(observations, nothing, streams, nothing).actions)))
        starts = [tr.Rollout(start=tr.ActionTrace(task.label, seed), agent=behaviour) for seed in range(20)]
        with tr.Engine(task, {behaviour: agent}) as engine:
            print(digest([episode.actions for episode in engine.run(starts)]))


if __name__ == "__main__":
    main(sys.argv[1])
