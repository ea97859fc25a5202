"""``tightrope tasks``: what can be tested by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from tightrope.cli.output.interface import current_interface
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import PASSED

EXAMPLE = "tightrope tasks"
NEEDS_ARGUMENTS = False


@verb
def command() -> int:
    """List the named tasks and their options."""
    from tightrope.errors import ExtensionError
    from tightrope.tasks import BroughtTask, task_builders

    interface = current_interface()
    rows: list[tuple[str, str, dict[str, Any]]] = []
    for name, builder in sorted(task_builders().items()):
        try:
            rows.append((name, *_described(builder.builder if isinstance(builder, BroughtTask) else builder)))
        except ExtensionError as error:
            rows.append((name, str(error), {}))
    told = [(name, summary, _as_set(options)) for name, summary, options in rows]
    interface.table("Tasks", ("name", "what it is", "options (--set NAME=VALUE)"), told)
    interface.data([{"name": name, "summary": summary, "options": options} for name, summary, options in rows])
    return PASSED


def _as_set(options: dict[str, Any]) -> str:
    """Options as they are typed: ``is_slippery=true, map_name=4x4``; one without a value may be left out."""
    return ", ".join(name if value is None else f"{name}={_typed(value)}" for name, value in options.items())


def _typed(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _described(builder: Callable[..., Any]) -> tuple[str, dict[str, Any]]:
    """What a task is, in the first words of its builder, and its options with what they are unless they are given."""
    options = {
        parameter.name: None if parameter.default is parameter.empty else parameter.default
        for parameter in inspect.signature(builder).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    described = builder.func if isinstance(builder, partial) else builder
    return (inspect.getdoc(described) or "").split("\n")[0], options
