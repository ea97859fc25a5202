"""Names that a module imports when they are first used. Its stub lists them, and type checkers read the same list."""

from __future__ import annotations

import importlib
import sys

# By this name type checkers know it; the module `typing` alone takes longer to import than all that is done here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


def homes_of(spec: ModuleSpec) -> dict[str, str]:
    """Each name that a module's stub (``.pyi``) lists, and the module it comes from."""
    # Asked of the loader, so that it also works inside a zip file; split by hand, so that nothing is imported for it.
    path = str(spec.origin).removesuffix(".py") + ".pyi"
    stub: bytes = spec.loader.get_data(path)  # type: ignore[union-attr]
    lines = (line.split() for line in stub.decode("utf-8").splitlines() if line.startswith("from "))
    return {name: home for _, home, _, _, _, name in lines}


def import_name(module: str, name: str, homes: dict[str, str]) -> object:
    """A name that a module is asked for the first time; from then on it has it."""
    if name not in homes:
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules[module])
    value = getattr(importlib.import_module(homes[name]), name)
    setattr(sys.modules[module], name, value)
    return value
