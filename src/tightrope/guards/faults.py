"""What a call of the user's code did instead of returning."""

from __future__ import annotations


class TookTooLong(BaseException):
    """Raised inside a call that did not return in time; no ``except Exception`` in that code can swallow it."""

    def __init__(self, seconds: float, what: str = "") -> None:
        super().__init__(f"did not return within {seconds:g} s")
        self.what = what
        """The call."""


def misdeed(error: BaseException) -> str:
    """What happened, as the end of a sentence that begins with whose code it was.

    Environments and agents are asked inside ``except BaseException``: ``sys.exit()`` in one of them would otherwise end
    the run as if all were well, and errors of compiled code may be no ``Exception`` either.
    """
    require_fault(error)
    if isinstance(error, SystemExit):
        return f"called sys.exit({'' if error.code is None else repr(error.code)})"
    if isinstance(error, TookTooLong):
        return str(error)
    return f"raised {type(error).__name__}: {error_text(error)}"


def require_fault(error: BaseException) -> None:
    """Raise again what is nobody's fault: the user's Ctrl-C, and a generator that is closed."""
    if isinstance(error, KeyboardInterrupt | GeneratorExit):
        raise error


def hang_in(error: BaseException | None) -> TookTooLong | None:
    """The call that did not return in time, if an error comes from one."""
    while error is not None and not isinstance(error, TookTooLong):
        error = error.__cause__ or error.__context__
    return error


def error_text(error: BaseException) -> str:
    """What an error says, also where saying it raises."""
    try:
        return str(error)
    except Exception:
        return "(its text cannot be read)"
