"""One file per verb of ``tightrope mario``, as in ``tightrope.cli.verbs``."""
