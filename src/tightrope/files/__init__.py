"""Reading files that may come from anybody.

Nothing in a file is executed, and nothing is unpacked, expanded or made before its size was checked against `limits`.
Every reader of foreign files starts here; what they raise is FormatError, with the file's name and the rule it breaks.
"""

from tightrope.files.content import read_content, require_plain_file
from tightrope.files.jsonfiles import DAMAGE, check_header, parse_json, read_json_file

__all__ = ["DAMAGE", "check_header", "parse_json", "read_content", "read_json_file", "require_plain_file"]
