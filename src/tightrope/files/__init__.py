"""Reading files that may come from anybody, and writing them whole.

Nothing in a file is executed, and nothing is unpacked, expanded or made before its size was checked against `limits`.
Every reader of foreign files starts here; what they raise is FormatError, with the file's name and the rule it breaks.
"""

from tightrope.files.content import read_content, require_plain_file
from tightrope.files.fields import require_fields
from tightrope.files.jsonfiles import (
    DAMAGE,
    Migrations,
    check_header,
    hash_from_text,
    migrated,
    parse_json,
    read_json_file,
)
from tightrope.files.writing import json_bytes, plain_number, write_json, write_whole

__all__ = [
    "DAMAGE",
    "Migrations",
    "check_header",
    "hash_from_text",
    "json_bytes",
    "migrated",
    "parse_json",
    "plain_number",
    "read_content",
    "read_json_file",
    "require_fields",
    "require_plain_file",
    "write_json",
    "write_whole",
]
