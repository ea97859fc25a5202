"""run.json: what a run is made with, and what is known of each thing it holds without opening that.

::

    Manifest ─┬─ CampaignConfig            every setting, agents apart
              ├─ TaskRecord, AgentRecord   what is tested, by hashes
              └─ Entry ─┬─ Source          one Entry per stored file: what it was made from,
                        └─ Cost            and what that cost
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tightrope.errors import FormatError
from tightrope.files import Migrations, migrated, parse_json, read_content, write_json
from tightrope.files.limits import JSON_FILE
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.settings import AgentConfig
from tightrope.trace import Action, content_id

FORMAT = "tightrope/run"


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _inside(path: str) -> str:
    if not re.fullmatch(r"[0-9]-[a-z]+(/[^/\\\0]+)+", path) or {".", ".."} & set(path.split("/")):
        raise ValueError("is not a path inside of a run folder")
    return path


ActionSet = Annotated[tuple[Action, ...] | None, BeforeValidator(_frozen)]
"""The task's actions that an agent can take; None for all of them."""
InnerPath = Annotated[str, AfterValidator(_inside)]


class Record(BaseModel):
    """A part of run.json."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TaskRecord(Record):
    """The task, and the hashes of files its environment depends on."""

    name: str
    label: str
    options: dict[str, str] = {}
    fingerprint: dict[str, str] = {}
    seed: int
    """Episodes begin from this reset seed."""
    stochastic: bool = False
    """Whether randomness was seen in it; what was found before it was seen does not hold."""

    @property
    def id(self) -> str:
        """What tells it from other tasks, and from itself with other files or as it was believed to be."""
        return content_id(self.label, self.fingerprint, *(["stochastic"] if self.stochastic else []))


class AgentRecord(Record):
    """One agent under test."""

    settings: AgentConfig
    fingerprint: str
    actions: ActionSet = None
    arithmetic: str = ""
    """What its file says of the numbers that it reckons in, if it is not in those of its training."""
    earlier: tuple[str, ...] = ()
    """Fingerprints that an agent of this name had before, oldest first."""


class Source(Record):
    """Something that a stored file was made from."""

    name: str
    """As people call it: "the task", "agent late", "the reference"."""
    id: str | None
    path: InnerPath | None = None
    """The stored file that it is in; None: it is told by run.json itself."""


class Cost(Record):
    """What it took to make something."""

    seconds: float = 0.0
    counters: dict[str, float] = {}


class Entry(Record):
    """One stored file."""

    checksum: str
    """Hash of the file's bytes: it is believed only as it was written."""
    ids: dict[str, str]
    """Content ids of what is in it, by the names under which others are made from it."""
    settings: dict[str, Any]
    """How it was asked for."""
    sources: tuple[Source, ...]
    cost: Cost = Cost()
    errors: int = 0
    """Executions behind it that raised. An error is no result: the next run tries those again."""


class CrossCheckRecord(Record):
    """How much of the run was played again in other processes."""

    failed: str = ""
    """Where one of them saw something else: the run cannot go on."""
    episodes: int = 0
    steps: int = 0
    processes: int = 0
    skipped: str = ""
    of: int = 0
    """Episodes there were to choose from."""


class Manifest(Record):
    """The content of run.json."""

    status: str
    """How far the run is."""
    command: str = ""
    """The command that made it."""
    settings: CampaignConfig = Field(alias="config")
    """Every setting but the agents, which have records of their own."""
    task: TaskRecord
    agents: dict[str, AgentRecord] = {}
    versions: dict[str, str] = {}
    machine: dict[str, str] = {}
    cross_check: CrossCheckRecord | None = None
    artefacts: dict[InnerPath, Entry] = {}

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    @property
    def config(self) -> CampaignConfig:
        """Every setting, with which the run can be continued."""
        return self.settings.model_copy(update={"agents": tuple(agent.settings for agent in self.agents.values())})

    @property
    def action_sets(self) -> tuple[tuple[Action, ...] | None, ...]:
        """The different sets of actions of the agents; None stands for that of the task."""
        return tuple(dict.fromkeys(agent.actions for agent in self.agents.values())) or (None,)

    @property
    def cost(self) -> Cost:
        """What everything in the run took together."""
        counters: Counter[str] = Counter()
        for entry in self.artefacts.values():
            counters.update(entry.cost.counters)
        return Cost(seconds=sum(entry.cost.seconds for entry in self.artefacts.values()), counters=dict(counters))


def _refused(content: Mapping[str, Any]) -> Mapping[str, Any]:
    made = f": {content['command']}" if isinstance(content.get("command"), str) and content["command"] else ""
    raise FormatError(
        f"this run was made by an earlier tightrope, which stored results in another form; make it again in another "
        f"folder{made} (its 1-search/reference.json and 2-safety/*.suite.json can still be read)"
    )


def _on_one_reference(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Runs used to stand on one reference, from the task's own reset."""
    config = content["config"]
    search = {**config.get("search", {}), "references": 1, "reset_seeds": 1}
    return {**content, "config": {**config, "search": search}}


MIGRATIONS: Migrations = {1: _refused, 2: _on_one_reference}
"""From each earlier version of run.json to the next."""
VERSION = max(MIGRATIONS) + 1


def read_manifest(path: Path) -> Manifest:
    """Read run.json."""
    content = parse_json(read_content(path, JSON_FILE), path.name)
    try:
        content = migrated(path.name, content, FORMAT, MIGRATIONS)
    except FormatError as error:
        raise FormatError(f"{path.parent}: {error}") from error
    try:
        return Manifest.model_validate({key: content[key] for key in content if key not in ("format", "version")})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise FormatError(f"{path} is damaged at {where}: {first['msg']}") from None


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Replace run.json."""
    content = manifest.model_dump(mode="json", by_alias=True)
    write_json(path, {"format": FORMAT, "version": VERSION, **content}, for_people=True)
