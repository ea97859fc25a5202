"""PettingZoo: one agent is tested, the others are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import gymnasium as gym

from tightrope.errors import AgentFailure, TaskError
from tightrope.guards.calls import calls_out
from tightrope.guards.faults import misdeed

OtherAgent: TypeAlias = Callable[..., Any]
"""``f(observation)`` or ``f(observation, rng)``: what another agent does."""


class OneAgentEnv(gym.Env[Any, Any]):
    """A world of several agents as the environment of one of them. The others answer when it is their turn."""

    def __init__(self, world: Any, agent: str, others: Mapping[str, OtherAgent] | OtherAgent) -> None:
        if agent not in world.possible_agents:
            raise TaskError(
                f"there is no agent {agent!r} in {world}; its agents are {', '.join(world.possible_agents)}"
            )
        self.world, self.agent = world, agent
        self.render_mode = getattr(world, "render_mode", None)
        self._others = {name: _given(others, name) for name in world.possible_agents if name != agent}
        self._in_turns = not hasattr(world, "parallel_env") and hasattr(world, "agent_iter")
        self._shown: dict[str, Any] = {}
        space = world.observation_space(agent)
        self._masked = isinstance(space, gym.spaces.Dict) and {"observation", "action_mask"} <= set(space.spaces)
        self.observation_space = space["observation"] if self._masked else space
        self.action_space = world.action_space(agent)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin; where agents take turns, the others play until it is this one's."""
        super().reset(seed=seed)
        if not self._in_turns:
            self._shown, told = self.world.reset(seed=seed, options=options)
            return self._seen(self._shown[self.agent], told.get(self.agent, {}))
        self.world.reset(seed=seed, options=options)
        self._let_others_play()
        return self._seen(self.world.observe(self.agent), self.world.infos.get(self.agent, {}))

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play an action, and what the others do until this agent is asked again."""
        return self._turn(action) if self._in_turns else self._together(action)

    def render(self) -> Any:
        """The world's own picture."""
        return self.world.render()

    def close(self) -> None:
        """Close the world."""
        self.world.close()

    def _together(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        actions = {name: self._asked(name, self._shown[name]) for name in self.world.agents if name != self.agent}
        self._shown, rewards, terminated, truncated, told = self.world.step({self.agent: action, **actions})
        observation, info = self._seen(self._shown[self.agent], told.get(self.agent, {}))
        return observation, float(rewards[self.agent]), terminated[self.agent], truncated[self.agent], info

    def _turn(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        world, agent = self.world, self.agent
        world.step(action)
        self._let_others_play()
        observation, info = self._seen(world.observe(agent), world.infos.get(agent, {}))
        over = agent not in world.agents
        reward = world._cumulative_rewards.get(agent, 0.0)
        terminated = over or world.terminations[agent]
        return observation, float(reward), bool(terminated), bool(not over and world.truncations[agent]), info

    def _let_others_play(self) -> None:
        world = self.world
        while self.agent in world.agents and world.agent_selection != self.agent:
            name = world.agent_selection
            gone = world.terminations[name] or world.truncations[name]
            world.step(None if gone else self._asked(name, world.observe(name)))

    @calls_out("another agent of the world", function="its answer")
    def _asked(self, name: str, observation: Any) -> Any:
        function = self._others[name]
        try:
            if len(inspect.signature(function).parameters) > 1:
                return function(observation, self.np_random)
            return function(observation)
        except BaseException as error:
            raise AgentFailure(f"the other agent {name!r} {misdeed(error)}") from error

    def _seen(self, observation: Any, told: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        if not self._masked:
            return observation, dict(told)
        return observation["observation"], {**told, "action_mask": observation["action_mask"]}


def _given(others: Mapping[str, OtherAgent] | OtherAgent, name: str) -> OtherAgent:
    function = others.get(name) if isinstance(others, Mapping) else others
    if not callable(function):
        raise TaskError(
            f"what does the other agent {name!r} do? Give others={{{name!r}: f}}, where f(observation) or "
            f"f(observation, rng) returns its action, or one function for all others"
        )
    return function


def one_agent_env(world: Any, agent: str, others: Mapping[str, OtherAgent] | OtherAgent) -> gym.Env[Any, Any]:
    """A PettingZoo world as the environment of one of its agents. An ``action_mask`` of the world goes into ``info``.

    Args:
        world: An environment of PettingZoo, with agents that take turns or act together.
        agent: The name of the one that is tested.
        others: What the others do, ``f(observation)`` or ``f(observation, rng)``: by name, or one function for all.
            They must not remember anything, and draw from ``rng`` alone.
    """
    return OneAgentEnv(world, agent, others)
