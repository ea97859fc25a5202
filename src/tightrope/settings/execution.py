"""Where the work is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tightrope.settings.ranges import Count, Weight
from tightrope.settings.section import Section, setting

BackendName: TypeAlias = Literal["inline", "processes", "ray"]
"""The back ends there are; a name that is none is told by a type checker."""


@dataclass(frozen=True, kw_only=True)
class ExecutionConfig(Section):
    """Where the work is done. Results do not depend on it."""

    backend: BackendName = setting("processes", "where the work runs: inline, processes or ray", run=True, decides=())
    workers: Count | None = setting(None, "how many processes", none="one for each core", run=True, decides=())
    ray_address: str | None = setting(
        None, "address of a running Ray cluster", none="start a local one", option="--ray", run=True, decides=()
    )
    # Generous, since an environment or agent may compile itself when it is first asked, which takes minutes.
    step_timeout: Weight = setting(
        300.0, "seconds that one step, reset or answer of the agent may take; 0: no limit", run=True, decides=()
    )

    @property
    def cluster(self) -> str | None:
        """The cluster that the work is sent to."""
        return self.ray_address if self.backend == "ray" else None


LIBRARY_BACKEND: BackendName = "inline"
"""Where functions work that are called one by one: processes are started by those who ask for them."""
