"""The command line: one file per verb."""

from __future__ import annotations

import sys

from tightrope.cli.interface import GATE_FAILED, INTERRUPTED, NOTHING_JUDGED, PASSED, WRONG_USE, Interface
from tightrope.errors import TightropeError, UsageError

__all__ = ["GATE_FAILED", "INTERRUPTED", "NOTHING_JUDGED", "PASSED", "WRONG_USE", "Interface", "main", "run_command"]


def main() -> None:
    """Entry point of the ``tightrope`` command."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    interface, rest = Interface.from_arguments(arguments)
    try:
        return _dispatch(interface, rest)
    except TightropeError as error:
        if interface.debug:
            raise
        interface.error(str(error))
        return WRONG_USE if isinstance(error, UsageError) else NOTHING_JUDGED
    except KeyboardInterrupt:
        interface.error("interrupted; what was finished is kept, and the same command continues")
        return INTERRUPTED


def _dispatch(interface: Interface, arguments: list[str]) -> int:
    import click

    from tightrope.cli.app import build_app

    command = build_app()
    try:
        result = command.main(args=arguments, prog_name="tightrope", standalone_mode=False, obj=interface)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return WRONG_USE
    except click.ClickException as error:
        error.show()
        return WRONG_USE
    except click.exceptions.Abort:
        raise KeyboardInterrupt from None
    return result if isinstance(result, int) else PASSED
