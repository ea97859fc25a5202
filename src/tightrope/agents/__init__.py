"""Agents: anything that maps a batch of observations to actions."""

from tightrope.agents.action_names import TranslatedAgent, arithmetic_of, own_actions
from tightrope.agents.agent import Agent, Answer
from tightrope.agents.networks.normalisation import convert_normalisation
from tightrope.agents.preferences import Preferences
from tightrope.agents.sources.loaders import AgentLoader, AgentRequest, register_loader
from tightrope.agents.sources.loading import AgentArgument, load_agent, names_code, parse_agent_argument

__all__ = [
    "Agent",
    "AgentArgument",
    "AgentLoader",
    "AgentRequest",
    "Answer",
    "Preferences",
    "TranslatedAgent",
    "arithmetic_of",
    "convert_normalisation",
    "load_agent",
    "names_code",
    "own_actions",
    "parse_agent_argument",
    "register_loader",
]
