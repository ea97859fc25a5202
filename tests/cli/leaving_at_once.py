"""Leaves when it is imported."""

import sys

sys.exit(0)
