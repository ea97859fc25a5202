"""How agent files play that are set into the situations of a run: as its own agents do, unless told otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tightrope.settings import AgentConfig

if TYPE_CHECKING:
    from tightrope.agents.agent import Agent
    from tightrope.cli.arguments.given import Given
    from tightrope.runs.run import Run


def manner_of(run: Run | None, given: Given) -> AgentConfig:
    """Behaviour and noise, without a source: those of the run's agents where they agree, and what was given."""
    usual = AgentConfig(source="")
    found = {(each.behaviour, each.epsilon) for each in run.config.agents} if run is not None else set()
    if len(found) == 1:
        behaviour, epsilon = found.pop()
        usual = usual.changed(behaviour=behaviour, epsilon=epsilon)
    return given.changed("agents", usual)


def manner_text(manner: AgentConfig) -> str | None:
    """How the files play, in words; None where they do what they would alone."""
    if manner.epsilon == 0 and manner.behaviour == "greedy":
        return None
    noise = f" with {manner.epsilon:g} of the actions random" if manner.epsilon else ""
    return f"Agent files play {manner.behaviour}{noise}."


def manner_options(manner: AgentConfig) -> str:
    """The options that make an agent file play so, as they stand in a command after it."""
    behaviour = f" --behaviour {manner.behaviour}" if manner.behaviour != "greedy" else ""
    return behaviour + (f" --epsilon {manner.epsilon:g}" if manner.epsilon else "")


def names_an_agent(text: str) -> bool:
    """Whether it reads as a file or as code, ``NAME=`` before it or not, rather than as the name of an agent."""
    source = text.partition("=")[2] or text
    return ":" in source or Path(source).exists() or "/" in source or bool(Path(source).suffix)


def agent_like_those_of(run: Run, text: str, given: Given, *, trust: bool) -> Agent:
    """An agent that the run has not tested, playing as its agents do."""
    from tightrope.cli.arguments.options import named_agent
    from tightrope.runs.campaign import load_agents

    name, source = named_agent(text)
    manner = manner_of(run, given).changed(trust=trust, source=source, name=name)
    (agent,) = load_agents((manner,), run.task).values()
    return agent
