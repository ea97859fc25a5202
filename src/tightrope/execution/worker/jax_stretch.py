"""Many ticks of a world and an agent in one compiled call, where that is seen to give what single ticks give.

A tick is two compiled calls, and handing them over costs more than a small world and a small network compute. So the
loop over ticks is compiled too. Barriers keep world and agent the programs they are when they are called one by one;
what comes out is nevertheless compared with single ticks, bit by bit, when it is first used and at ever rarer times
after that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tightrope.agents.formats.jax_network import JaxNetwork
from tightrope.errors import NotReproducible
from tightrope.tasks.jaxworlds.rows import WIDTH, Rows, import_jax

LONGEST = 64
"""Ticks of one call."""
PAYS_AFTER = 500
"""Ticks that are played singly first: compiling the loop takes about as long as some thousand of them."""


class Met:
    """What a row met in a tick, as bits: plain numbers, since each episode looks at them."""

    UNSAFE = 1
    GOAL = 2
    ENDED = 4
    NO_NUMBER = 8
    """The agent answered NaN: its rollout is run alone, which tells."""
    OVER = 16


class RowScene(NamedTuple):
    """Where all rows stand."""

    situations: Any
    observations: Any


class StretchPlan(NamedTuple):
    """What a stretch needs to know of the rollouts in its rows."""

    noise: NDArray[np.int32]
    """By tick and row, the action that replaces the agent's; -1: none does."""
    ends: NDArray[np.int32]
    """Ticks from here until the world is ended, of each row."""
    limits: NDArray[np.int32]
    """Ticks from here until the rollout has its length."""
    live: NDArray[np.bool_]
    fewest: int
    """Live rows below which to stop: it is time for new rollouts."""


class Stretch(NamedTuple):
    """What was played and met, by tick and row; what dead rows did is there too and means nothing."""

    actions: NDArray[Any]
    rewards: NDArray[Any]
    met: NDArray[np.uint8]


@dataclass(slots=True)
class Seconds:
    """Of single ticks: how the time of a loop is divided is not seen."""

    agent: float = 0.0
    all: float = 1e-9


@dataclass(frozen=True, kw_only=True)
class Player:
    """A world and an agent that gives one score for each of so many numbered actions."""

    rows: Rows
    network: JaxNetwork
    actions: int
    first: int
    """The number of the first action."""
    seconds: Seconds = field(default_factory=Seconds)

    def tick(self, scene: RowScene, plan: StretchPlan, tick: int) -> tuple[RowScene, Stretch]:
        """One tick by the two programs that single environments and questions use too."""
        begun = perf_counter()
        scores = np.asarray(self.network.compiled(scene.observations))
        self.seconds.agent += perf_counter() - begun
        if scores.shape != (WIDTH, self.actions):
            raise ValueError(f"scores of shape {scores.shape[1:]} for {self.actions} actions")
        noise = plan.noise[tick]
        actions = np.where(noise >= 0, noise, scores.argmax(axis=1) + self.first).astype(self._dtype)
        situations, shown = self.rows.step(scene.situations, actions)
        ended = np.asarray(shown.terminated) | np.asarray(shown.truncated) | (plan.ends == tick + 1)
        unsafe, goal = np.asarray(shown.unsafe), np.asarray(shown.goal)
        nan = np.isnan(scores).any(axis=1)
        over = unsafe | goal | ended | nan | (plan.limits == tick + 1)
        flags = (unsafe, Met.UNSAFE), (goal, Met.GOAL), (ended, Met.ENDED), (nan, Met.NO_NUMBER), (over, Met.OVER)
        met = sum(flag * np.uint8(bit) for flag, bit in flags)
        stretch = Stretch(actions[None], np.asarray(shown.reward)[None], np.asarray(met)[None])
        self.seconds.all += perf_counter() - begun
        return RowScene(situations, shown.observation), stretch

    def ticks(self, scene: RowScene, plan: StretchPlan, number: int) -> tuple[RowScene, Stretch]:
        """So many single ticks."""
        found = []
        for tick in range(number):
            scene, one = self.tick(scene, plan, tick)
            found.append(one)
        return scene, Stretch(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    @property
    def _dtype(self) -> Any:
        return self.rows.canonical(self.rows.world.action_space.dtype)

    def compiled(self) -> Any:
        """The loop over ticks as one program."""
        jax = import_jax()
        jnp, lax = jax.numpy, jax.lax
        function, stepping = self.network.function, self.rows.stepping
        number, first, dtype = self.actions, self.first, self._dtype

        def play(parameters: Any, scene: RowScene, plan: StretchPlan) -> tuple[Any, RowScene, Stretch]:
            def goes_on(carried: Any) -> Any:
                tick, _, live, _ = carried
                return (tick < LONGEST) & (live.sum() >= plan.fewest)

            def tick_once(carried: Any) -> Any:
                tick, scene, live, stretch = carried
                scores = lax.optimization_barrier(function(parameters, scene.observations))
                noise = plan.noise[tick]
                actions = jnp.where(noise >= 0, noise, scores.argmax(axis=1) + first).astype(dtype)
                situations, actions = lax.optimization_barrier((scene.situations, actions))
                situations, shown = lax.optimization_barrier(stepping(situations, actions))
                ended = shown.terminated | shown.truncated | (plan.ends == tick + 1)
                nan = jnp.isnan(scores).any(axis=1)
                over = shown.unsafe | shown.goal | ended | nan | (plan.limits == tick + 1)
                flags = (
                    (shown.unsafe, Met.UNSAFE), (shown.goal, Met.GOAL), (ended, Met.ENDED), (nan, Met.NO_NUMBER),
                    (over, Met.OVER),
                )  # fmt: skip
                met = sum(flag.astype(jnp.uint8) * np.uint8(bit) for flag, bit in flags)
                noted = Stretch(actions, shown.reward, met)
                kept = jax.tree.map(lambda all_, one: all_.at[tick].set(one), stretch, noted)
                return tick + 1, RowScene(situations, shown.observation), live & ~over, kept

            shown = jax.eval_shape(stepping, scene.situations, jnp.zeros(WIDTH, dtype))[1]
            if jax.eval_shape(function, parameters, scene.observations).shape != (WIDTH, number):
                raise ValueError("scores of another shape")
            empty = Stretch(
                jnp.zeros((LONGEST, WIDTH), dtype),
                jnp.zeros((LONGEST, WIDTH), shown.reward.dtype),
                jnp.zeros((LONGEST, WIDTH), jnp.uint8),
            )
            ticks, scene, _, stretch = lax.while_loop(goes_on, tick_once, (jnp.int32(0), scene, plan.live, empty))
            return ticks, scene, stretch

        run, parameters = jax.jit(play), jax.device_put(self.network.parameters)
        return lambda scene, plan: run(parameters, scene, plan)


class Stretches:
    """Plays by single ticks until the loop pays, and by the loop from then on, unless the two differ."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._ticks = 0
        self._loop: Any = None
        self._differs = False
        self._played, self._next_look = 0, 1

    @property
    def agent_share(self) -> float:
        """Which share of the time is the agent's."""
        return self._player.seconds.agent / self._player.seconds.all

    def play(self, scene: RowScene, plan: StretchPlan) -> tuple[RowScene, Stretch]:
        """One tick or many: until it is time for new rollouts, or for more noise to be planned."""
        if self._differs or self._ticks < PAYS_AFTER:
            self._ticks += 1
            return self._player.tick(scene, plan, 0)
        try:
            after, stretch = self._looped(scene, plan)
        except Exception:
            # A world or an agent that cannot be part of a loop; whatever else it is, single ticks tell.
            self._differs = True
            return self._player.tick(scene, plan, 0)
        self._played += 1
        if self._played < self._next_look:
            return after, stretch
        return self._looked_at(scene, plan, (after, stretch))

    def _looped(self, scene: RowScene, plan: StretchPlan) -> tuple[RowScene, Stretch]:
        if self._loop is None:
            self._loop = self._player.compiled()
        ticks, after, stretch = self._loop(scene, plan)
        return RowScene(*after), Stretch(*(np.asarray(part)[: int(ticks)] for part in stretch))

    def _looked_at(
        self, scene: RowScene, plan: StretchPlan, looped: tuple[RowScene, Stretch]
    ) -> tuple[RowScene, Stretch]:
        """The same by single ticks, and no loop any more where they differ."""
        single = self._player.ticks(scene, plan, len(looped[1].actions))
        leaves = import_jax().tree.leaves
        same = all(map(_same_bits, leaves(looped), leaves(single)))
        if not same and self._played > 1:
            raise NotReproducible(
                f"world {self._player.rows.world.name!r} and agent {self._player.network.name!r} led elsewhere in one "
                f"compiled loop than in single steps, after {self._played - 1} loops that did not; run them with "
                f"another version of jaxlib"
            )
        self._differs = not same
        self._next_look *= 2
        return single


def _same_bits(left: Any, right: Any) -> bool:
    left, right = np.asarray(left), np.asarray(right)
    return left.dtype == right.dtype and left.shape == right.shape and bool(left.tobytes() == right.tobytes())


def stretches_of(player: Player) -> Stretches:
    """Those of a world and an agent, compiled and compared once in a process."""
    known: Any = player.network.loops
    if player.rows.world not in known:
        known[player.rows.world] = Stretches(player)
    found: Stretches = known[player.rows.world]
    return found
