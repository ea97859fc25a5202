"""How much a file may ask for before anything is made of it. One home for these numbers, each with its reason.

They are far above what honest files hold and far below what a machine cannot bear: a few kilobytes must not become
gigabytes. A file over a limit is refused by name, with the limit, before memory is spent on it.
"""

from __future__ import annotations

MIB = 1024**2
GIB = 1024**3

JSON_FILE = 512 * MIB
"""Bytes of a JSON file. The result of 100,000 executions of 40 steps is some 100 MB; JSON takes ten times its size."""

SETTINGS_FILE = 256 * 1024
"""Bytes of a campaign file. The commented example has 4 KB; YAML of this size takes seconds to read."""

SETTINGS_VALUES = 20_000
"""Values in a campaign file once its aliases are written out: lists of aliases of lists of aliases grow like 2ⁿ."""

DOTS_IN_A_LINE = 200
"""Dots in a line of TOML. Reading a dotted key takes the square of its parts."""

NESTING = 64
"""Levels of lists and tables within each other. Reading goes deeper by recursion, and results have about ten."""

DIGITS = 100
"""Digits of a whole number. Seeds of 128 bits have 39; Python refuses to print more than 4300."""

AGENT_FILE = 4 * GIB
"""Bytes of an agent's file or archive, packed or unpacked."""

AGENT_RATIO = 20
"""How many times its own size an agent's archive may unpack to. Weights hardly shrink when packed."""

AGENT_DATA = 16 * MIB
"""Bytes of the part of an agent's archive that is not weights. Stable-Baselines3 writes some 100 KB; lists of nothing
take twenty times their text."""

AGENT_STEPS = 1_000_000
"""Steps of the pickle that puts weights together: some 25 a tensor."""

AGENT_SMALL = 64 * MIB
"""What an agent's archive may always unpack to, however small it is."""

NETWORK_MEMORY = 4 * GIB
"""Bytes that all ONNX networks of a process may take together, with their weights and what they work out."""

ARRAYS = 256 * MIB
"""Bytes of all arrays of an npz file, unpacked. 1000 traces have some 5 MB; repeated actions pack a thousandfold, so a
ratio says nothing here."""

ARRAY_ITEMS = 16 * MIB
"""Items of all arrays of an npz file; each becomes an object of its own."""

ZIP_DIRECTORY = 4 * MIB
"""Bytes of an archive's table of contents, which is read before anything else: some 40,000 members."""

SUITE_ACTIONS = 50_000_000
"""Actions of all prefixes of a suite, written out. A suite file names its prefixes by their lengths alone."""

STORED_VALUE = 32 * MIB
"""Bytes of one compressed value in a run's database, unpacked: an episode of hundreds of thousands of steps."""
