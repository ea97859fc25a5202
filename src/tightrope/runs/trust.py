"""Whether a file that was found may say which code runs: only if the user says so.

Task, agents and clusters on a command line or in a campaign file that is named there are the user's own words. In a
suite file or a ``run.json`` they may be anybody's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tightrope.agents import names_code
from tightrope.errors import UsageError
from tightrope.settings import AgentConfig
from tightrope.tasks import task_builders


def require_trust(
    source: Path,
    task: str,
    agents: Sequence[AgentConfig] = (),
    *,
    cluster: str | None = None,
    trust: bool,
    option: str = "--trust",
) -> None:
    """Refuse a file that would have code imported or unpickled, or work sent elsewhere, unless it is trusted.

    ``cluster`` is the address that the file names for the work, if it is used; ``option`` is how the user says yes.
    """
    code = () if trust else tuple(_code(task, agents, cluster))
    if code:
        raise UsageError(
            f"{source} names code to run: {', '.join(code)}. Files may not do that by default. If you know where this "
            f"one comes from, repeat the command with {option}"
        )


def is_code(task: str) -> bool:
    """Whether a task is not one of the registered ones but ``package.module:name``."""
    return ":" in task and task not in task_builders()


def _code(task: str, agents: Sequence[AgentConfig], cluster: str | None) -> Iterator[str]:
    if is_code(task):
        yield f"task {task}"
    for agent in agents:
        if agent.trust or names_code(agent.source):
            yield f"agent {agent.source}"
    if cluster is not None:
        # What comes back from a cluster is unpickled here.
        yield f"the cluster {cluster}"
