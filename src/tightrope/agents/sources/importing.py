"""Importing what the user named: ``package.module:name``."""

from __future__ import annotations

import importlib
import os
import re
import sys
from typing import Any

from tightrope.errors import AgentError, UnknownName, how_a_file_is_named
from tightrope.guards.faults import misdeed

NAMED = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")


def is_import_name(source: str) -> bool:
    """Whether a source reads ``package.module:name``."""
    return bool(NAMED.match(source))


def import_named(source: str) -> Any:
    """The object of that name; modules of the working folder are found too."""
    module_name, _, attribute = source.partition(":")
    if not is_import_name(source):
        raise AgentError(f"{source!r} is not of the form package.module:name")
    value = _imported(module_name, source)
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise UnknownName(
                f"object in {module_name}", part, [name for name in dir(value) if not name.startswith("_")]
            )
        value = getattr(value, part)
    return value


def _imported(module_name: str, source: str) -> Any:
    folder = os.getcwd()
    # Left on the path, not taken back: worker processes get it from there and must find the module too.
    if folder not in sys.path:
        sys.path.append(folder)
    if move := how_a_file_is_named(source):
        raise AgentError(f"{source!r} is not a module. {move}")
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise AgentError(
            f"{source!r}: there is no module {error.name!r}; run from the folder that holds it, or install its package"
        ) from error
    except BaseException as error:
        raise AgentError(f"{source!r}: importing its module {module_name} {misdeed(error)}") from error
