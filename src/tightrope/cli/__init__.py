"""The command line: one file per verb."""


def main() -> None:
    """Entry point of the ``tightrope`` command."""
