"""Names of agents in modules of the user's: ``package.module:name``."""

from __future__ import annotations

import re
from typing import Any

from tightrope.errors import AgentError
from tightrope.guards.importing import import_object

NAMED = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")


def is_import_name(source: str) -> bool:
    """Whether a source reads ``package.module:name``."""
    return bool(NAMED.match(source))


def import_named(source: str) -> Any:
    """The object of that name."""
    if not is_import_name(source):
        raise AgentError(f"{source!r} is not of the form package.module:name")
    return import_object(source, AgentError, "module")
