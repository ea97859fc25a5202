"""What packages that extend tightrope may import beside the public names: for verbs, loaders and worlds of their own.

Each name is imported when it is first used, so that a world does not wait for the command line.
"""

from __future__ import annotations

from tightrope.stubs import homes_of, import_name

_HOMES = homes_of(__spec__)
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    return import_name(__name__, name, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
