"""``tightrope tasks``: what can be tested by name."""

from __future__ import annotations

import inspect
from functools import partial

from tightrope.cli.interface import current_interface, verb
from tightrope.cli.supervision import PASSED

EXAMPLE = "tightrope tasks"
NEEDS_ARGUMENTS = False


@verb
def command() -> int:
    """List the named tasks and their options."""
    from tightrope.tasks import task_builders

    interface = current_interface()
    rows = []
    for name, builder in sorted(task_builders().items()):
        parameters = inspect.signature(builder).parameters.values()
        options = ", ".join(
            parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default!r}"
            for parameter in parameters
            if parameter.kind is not parameter.VAR_KEYWORD
        )
        described = builder.func if isinstance(builder, partial) else builder
        summary = (inspect.getdoc(described) or "").split("\n")[0]
        rows.append((name, summary, options))
    interface.table("Tasks", ("name", "what it is", "options (--set NAME=VALUE)"), rows)
    interface.data([{"name": name, "summary": summary, "options": options} for name, summary, options in rows])
    return PASSED
