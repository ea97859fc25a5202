"""One file per verb: its function ``command``, an ``EXAMPLE``, and whether it ``NEEDS_ARGUMENTS``."""
