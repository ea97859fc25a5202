"""Importing what the user named: ``package.module:name``."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from tightrope.errors import UnknownName, UsageError, how_a_file_is_named
from tightrope.guards.faults import misdeed


def look_in_this_folder() -> None:
    """Find modules of the working folder, too: a command does not have it on its path, as a script there would.

    It is left there, not taken back: worker processes get the path from here and must find the module as well.
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def import_object(source: str, wrong: type[UsageError], kind: str) -> Any:
    """The object of that name, which may be an attribute of another.

    Args:
        source: The name, as in ``package.module:name``.
        wrong: The error that says why it cannot be imported.
        kind: What it should be, such as a module or a task.
    """
    module_name, _, attribute = source.partition(":")
    look_in_this_folder()
    if move := how_a_file_is_named(source):
        raise wrong(f"{source!r} is no {kind}. {move}")
    try:
        value: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise wrong(
            f"{source!r}: there is no module {error.name!r}; run from the folder that holds it, or install its package"
        ) from error
    except BaseException as error:
        raise wrong(f"{source!r}: importing its module {module_name} {misdeed(error)}") from error
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise UnknownName(f"object in {module_name}", part, [name for name in dir(value) if name[0] != "_"])
        value = getattr(value, part)
    return value
