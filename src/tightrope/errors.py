"""Everything tightrope raises on purpose.

::

    TightropeError
    ├── UsageError                 the call is wrong; the message says what to change (exit code 2)
    │   ├── UnknownName            no such task, agent, suite…; carries the nearest names
    │   ├── MissingExtra           an optional library is not installed
    │   ├── ExtensionError         an installed package brings something that cannot be used
    │   ├── TrustRequired          the file could run code and the user has not said it may
    │   ├── TaskError              a task breaks one of its own rules
    │   ├── AgentError             an agent cannot be loaded or does not fit the task
    │   └── FormatError            a file is not what it claims, or of a newer format
    ├── EnvironmentFailure         the environment raised in the middle of an episode
    ├── AgentFailure               the agent raised, or answered outside the action set
    │   └── UnavailableAction      it answered what the environment does not allow at this moment
    ├── NotReproducible            the same seed and actions led somewhere else
    └── RunLocked                  another process writes this run folder

Messages name the rule, the value that broke it, and the next move.
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Iterable
from types import ModuleType

__all__ = [
    "AgentError",
    "AgentFailure",
    "EnvironmentFailure",
    "ExtensionError",
    "FormatError",
    "MissingExtra",
    "NotReproducible",
    "RunLocked",
    "TaskError",
    "TightropeError",
    "TrustRequired",
    "UnavailableAction",
    "UnknownName",
    "UsageError",
    "how_a_file_is_named",
    "require_extra",
]

MOST_LISTED = 30
"""Names shown when none is near."""


class TightropeError(Exception):
    """Root of every error raised on purpose."""


class UsageError(TightropeError):
    """The call is wrong; nothing was computed and nothing was lost."""


class UnknownName(UsageError):
    """A name is not known; the message offers the nearest ones.

    Args:
        kind: What was named, such as ``task``.
        name: The name that is not known.
        known: The names there are.
        hint: What else may help; a sentence.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        known = sorted(set(known))
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        parts = [f"There is no {kind} named {name!r}."]
        if near:
            parts.append(f"Did you mean {' or '.join(repr(candidate) for candidate in near)}?")
        elif known:
            parts.append(f"Known: {', '.join(known[:MOST_LISTED])}{', …' if len(known) > MOST_LISTED else ''}.")
        if hint:
            parts.append(hint)
        super().__init__(" ".join(parts))
        self.name = name
        self.suggestions = near


class MissingExtra(UsageError):
    """An optional library is needed and not installed.

    Args:
        library: The module that cannot be imported.
        extra: The extra of tightrope that brings it.
        purpose: What needs it.
        cause: The error of the import; it may be another module that is missing.
    """

    def __init__(self, library: str, extra: str, purpose: str, cause: ImportError | None = None) -> None:
        lacks = "is not installed" if cause is None or _lacks(library, cause) else f"cannot be imported: {cause}"
        needed = f"'tightrope[{extra}]'"
        if cause is not None and isinstance(cause, ModuleNotFoundError) and not _lacks(library, cause) and cause.name:
            # What the library itself needs and does not ask for comes with none of our extras.
            needed += f" {cause.name.partition('.')[0]}"
        super().__init__(f"{purpose} needs {library}, which {lacks}. Install it with: pip install {needed}")
        self.extra = extra


def _lacks(library: str, cause: ImportError) -> bool:
    """Whether it is the library itself that is not there, not something that it imports."""
    roots = {(name or "").partition(".")[0] for name in (library, cause.name)}
    return isinstance(cause, ModuleNotFoundError) and len(roots) == 1


class ExtensionError(UsageError):
    """Something that an installed package brings cannot be loaded or used; the message names the package."""


class TrustRequired(UsageError):
    """Loading this would run code from the file; only the user can allow that."""


class TaskError(UsageError):
    """A task breaks one of its own rules."""


class AgentError(UsageError):
    """An agent cannot be loaded or does not fit the task."""


class FormatError(UsageError):
    """A file is damaged, is not what it claims to be, or was written by a newer version."""


class EnvironmentFailure(TightropeError):
    """The environment raised in the middle of an episode."""


class AgentFailure(TightropeError):
    """The agent raised, or answered with something that is no action of the task."""


class UnavailableAction(AgentFailure):
    """The agent answered with an action that ``info["action_mask"]`` rules out at this moment."""


class NotReproducible(TightropeError):
    """The same seed and actions led somewhere else, so nothing found could be replayed."""


class RunLocked(TightropeError):
    """Another process is writing this run folder."""


def how_a_file_is_named(source: str) -> str:
    """The next move for ``folder/file.py:name``, where a module is meant; empty for all else.

    Args:
        source: What was given in place of ``module:name``.
    """
    meant = re.fullmatch(r"(?:(.*)[/\\])?(\w+)\.py:(\w+)", source)
    if meant is None:
        return ""
    folder, module, attribute = meant.groups()
    place = "" if folder in (None, "", ".") else f", in the folder {folder}"
    return f"A file of yours is named as Python imports it{place}: {module}:{attribute}"


def require_extra(library: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional library or raise the error that says how to install it.

    Args:
        library: The module to import.
        extra: The extra of tightrope that brings it.
        purpose: What needs it, for the message.
    """
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise MissingExtra(library, extra, purpose, error) from error
