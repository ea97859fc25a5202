"""Double deep Q-learning on the paper's network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import FormatError
from tightrope_mario.game.pictures import STACK
from tightrope_mario.training.memory import Memory, import_torch
from tightrope_mario.training.recipe import Recipe

LARGEST_GRADIENT = 10.0
ADAM_EPSILON = 1.5e-4
"""Larger than the usual 1e-8, as is common for Q-learning: early gradients are tiny and would be blown up."""


def build_network(actions: int) -> Any:
    """Conv 32 8×8/4, 64 4×4/2, 64 3×3/1, dense 512, one output per action. Takes pictures scaled to 0 … 1."""
    nn = import_torch().nn
    return nn.Sequential(
        nn.Conv2d(STACK, 32, 8, 4), nn.ReLU(),
        nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
        nn.Conv2d(64, 64, 3, 1), nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64 * 7 * 7, 512), nn.ReLU(),
        nn.Linear(512, actions),
    )  # fmt: skip


class QLearner:
    """The network that is trained, its slow copy, its running mean, and its memory.

    On a GPU an update is recorded once and then replayed as a whole: launching its hundred small kernels one by one
    would take longer than running them.
    """

    def __init__(
        self,
        recipe: Recipe,
        actions: int,
        device: str,
        seed: int,
        earlier: NDArray[np.uint8] | None = None,
        places: int = 0,
    ) -> None:
        torch = self._torch = import_torch()
        torch.manual_seed(seed)
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.allow_tf32 = True
        torch.set_float32_matmul_precision("high")
        self.recipe, self.device = recipe, device
        self._on_gpu = device.startswith("cuda")
        self.network = build_network(actions).to(device)
        self.target = build_network(actions).to(device)
        self.target.load_state_dict(self.network.state_dict())
        self.averaged = build_network(actions).to(device)
        self.averaged.load_state_dict(self.network.state_dict())
        self.optimiser = torch.optim.Adam(
            self.network.parameters(),
            lr=recipe.learning_rate,
            eps=ADAM_EPSILON,
            fused=self._on_gpu,
            capturable=self._on_gpu,
        )
        self.memory = Memory(recipe.memory_ticks, recipe.games, device, earlier, places)
        self.updates = 0
        self._drawable = torch.zeros(2, dtype=torch.int64, device=device)
        self._losses = torch.zeros(2, device=device)
        self._recorded: Any = None

    def greedy_actions(self) -> NDArray[np.int64]:
        """What the network would do now in every game."""
        with self._torch.no_grad():
            return self.network(self.memory.newest_stacks()).argmax(1).cpu().numpy()  # type: ignore[no-any-return]

    def update(self) -> None:
        """One gradient step, and the copying of the network when it is due."""
        first, end = self.memory.drawable(self.recipe.n_step)
        self._drawable[0], self._drawable[1] = first, end
        if self._on_gpu and self._recorded is None:
            self._recorded = self._record()
        if self._recorded is None:
            self._descend()
        else:
            self._recorded.replay()
        self.updates += 1
        if self.updates % self.recipe.target_every == 0:
            self.target.load_state_dict(self.network.state_dict())

    def _descend(self) -> None:
        """Draw a batch and follow its gradient; uses nothing that changes but what lies on the device."""
        torch = self._torch
        tick, game = self._draw()
        goal = self._goals(tick, game)
        chosen = self.memory.action[tick % self.memory.ticks, game]
        value = self.network(self.memory.stacks(tick, game)).gather(1, chosen[:, None])[:, 0]
        loss = torch.nn.functional.smooth_l1_loss(value, goal)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), LARGEST_GRADIENT)
        self.optimiser.step()
        with torch.no_grad():
            kept = list(self.averaged.parameters())
            torch._foreach_lerp_(kept, list(self.network.parameters()), 1 - self.recipe.averaging)
        self._losses += torch.stack([loss.detach(), torch.ones_like(loss)])

    def _record(self) -> Any:
        """Run an update a few times so that everything is allocated, then record it as a CUDA graph."""
        cuda = self._torch.cuda
        aside = cuda.Stream()
        aside.wait_stream(cuda.current_stream())
        with cuda.stream(aside):
            for _ in range(3):
                self._descend()
        cuda.current_stream().wait_stream(aside)
        self.optimiser.zero_grad(set_to_none=True)
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            self._descend()
        return graph

    def _draw(self) -> tuple[Any, Any]:
        """Ticks and games drawn evenly from all that can be learned from."""
        torch = self._torch
        shares = torch.rand((2, self.recipe.batch), device=self.device)
        first, end = self._drawable[0], self._drawable[1]
        tick = first + (shares[0] * (end - first)).long()
        # Rounding up to 1.0 would fall off the end.
        return torch.minimum(tick, end - 1), (shares[1] * self.memory.games).long().clamp_(max=self.memory.games - 1)

    def learn_at(self, rate: float) -> None:
        """Take steps of another size from now on."""
        for group in self.optimiser.param_groups:
            if group["lr"] != rate:
                group["lr"] = rate
                # The recorded update holds the old one.
                self._recorded = None

    def mean_loss(self) -> float | None:
        """Over the updates since it was last asked for; None when there were none."""
        total, count = self._losses.tolist()
        self._losses.zero_()
        return total / count if count else None

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """The parameters to be exported by layer, as ``"0.weight"``."""
        return {name: value.detach().cpu().float().numpy().copy() for name, value in self.averaged.state_dict().items()}

    def adopt(self, weights: Mapping[str, NDArray[np.float32]], source: Path) -> None:
        """Begin with the parameters of a trained network."""
        state = {name: self._torch.from_numpy(value.copy()) for name, value in weights.items()}
        try:
            self.network.load_state_dict(state)
        except RuntimeError as error:
            raise FormatError(f"{source} is not an agent with this network and action set: {error}") from error
        for copy in (self.target, self.averaged):
            copy.load_state_dict(self.network.state_dict())

    def save(self, path: Path, counters: dict[str, float]) -> None:
        """Write everything but the memory; the old file stays whole until the new one is."""
        content = {
            "network": self.network.state_dict(),
            "target": self.target.state_dict(),
            "averaged": self.averaged.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "updates": self.updates,
            "counters": counters,
        }
        partial = path.with_suffix(".partial")
        self._torch.save(content, partial)
        os.replace(partial, path)

    def load(self, path: Path) -> dict[str, float]:
        """Go on from a checkpoint; returns its counters."""
        content = self._torch.load(path, map_location=self.device, weights_only=True)
        try:
            self.network.load_state_dict(content["network"])
            self.target.load_state_dict(content["target"])
            self.averaged.load_state_dict(content.get("averaged", content["network"]))
            self.optimiser.load_state_dict(content["optimiser"])
        except (KeyError, RuntimeError) as error:
            raise FormatError(f"{path} is not a checkpoint of this network and action set: {error}") from error
        for group in self.optimiser.param_groups:
            # A checkpoint may come from a machine of the other kind.
            group["fused"] = group["capturable"] = self._on_gpu
        self.updates = int(content["updates"])
        return dict(content["counters"])

    def _goals(self, tick: Any, game: Any) -> Any:
        """n steps of reward, then the target network's value of the action the learning network prefers.

        Where slips are counted with, a share of the rest is the mean over all actions.
        """
        torch, memory, recipe = self._torch, self.memory, self.recipe
        total = torch.zeros(len(tick), device=self.device)
        alive = torch.ones(len(tick), device=self.device)
        weight = recipe.reward_scale
        for step in range(recipe.n_step):
            row = (tick + step) % memory.ticks
            total += weight * alive * memory.reward[row, game]
            alive = alive * memory.alive[row, game]
            weight *= recipe.discount
        with torch.no_grad():
            later = memory.stacks(tick + recipe.n_step, game)
            preferred = self.network(later).argmax(1, keepdim=True)
            values = self.target(later)
            rest = (1 - recipe.slips) * values.gather(1, preferred)[:, 0] + recipe.slips * values.mean(1)
        return total + recipe.discount**recipe.n_step * alive * rest
