"""What installed packages add to tightrope: found by entry points, imported only when it is asked for.

A package says in its ``pyproject.toml`` what it brings::

    [project.entry-points."tightrope.tasks"]
    my-world = "my_package.world:my_task"

One that cannot be loaded is named, and nothing else suffers from it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeAlias

from tightrope.errors import ExtensionError
from tightrope.guards.faults import misdeed

BrokenRule: TypeAlias = Callable[[Any], str]
"""Says which rule of its group a loaded thing breaks; empty when none."""
LOG = logging.getLogger("tightrope.extensions")

GROUPS = {
    "tightrope.tasks": "task",
    "tightrope.agent_loaders": "agent loader",
    "tightrope.snapshotters": "snapshotter",
    "tightrope.search_methods": "search method",
    "tightrope.suites": "kind of suite",
    "tightrope.report_sections": "section of the report",
    "tightrope.verbs": "verb of the command line",
}
"""Each group of entry points and what its entries are called."""


@dataclass(frozen=True, kw_only=True)
class Extension:
    """One thing that a package brings, not imported yet."""

    group: str
    name: str
    packages: tuple[str, ...]
    """The package that brings it, with its version; several when they claim the same name."""
    entry: EntryPoint

    @property
    def title(self) -> str:
        """What it is, its name, and whose it is."""
        return f"the {GROUPS[self.group]} {self.name!r} of {' and '.join(self.packages)}"

    def load(self, check: BrokenRule = lambda value: "") -> Any:
        """Import it; ExtensionError names the package when that fails, or when ``check`` finds a rule broken."""
        if len(self.packages) > 1:
            raise ExtensionError(f"{self.title}: several packages claim that name; uninstall all but one of them")
        try:
            value = self.entry.load()
        except BaseException as error:
            raise self._unusable(f"its import {misdeed(error)}") from error
        if broken := check(value):
            raise self._unusable(broken)
        return value

    def _unusable(self, reason: str) -> ExtensionError:
        return ExtensionError(
            f"{self.title} cannot be used: {self.entry.value}: {reason}; repair, update or uninstall that package"
        )


@cache
def extensions(group: str) -> dict[str, Extension]:
    """What installed packages bring to a group, by name; looked up once, nothing is imported."""
    found: dict[str, Extension] = {}
    for entry in sorted(entry_points(group=group), key=_package):
        earlier = found[entry.name].packages if entry.name in found else ()
        found[entry.name] = Extension(group=group, name=entry.name, packages=(*earlier, _package(entry)), entry=entry)
    return found


@cache
def loaded(group: str, check: BrokenRule) -> dict[str, Any]:
    """All of a group that can be used, by name; what cannot is said once and left out."""
    return dict(_usable(group, check))


def _usable(group: str, check: BrokenRule) -> Iterator[tuple[str, Any]]:
    for name, extension in extensions(group).items():
        try:
            yield name, extension.load(check)
        except ExtensionError as error:
            LOG.warning("left out: %s", error)


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "an unnamed package"
