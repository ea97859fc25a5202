"""Settings that people write: YAML and TOML, bounded before they are understood."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from tightrope.errors import FormatError
from tightrope.files.jsonfiles import require_shallow
from tightrope.files.limits import DIGITS, DOTS_IN_A_LINE, NESTING, SETTINGS_VALUES


def parse_yaml(text: str, source: str) -> tuple[Any, yaml.Node | None]:
    """The value of a YAML text, and the tree that knows its lines."""
    try:
        _require_small(yaml.parse(text, Loader=yaml.SafeLoader), source)
        # Twice, because making the value writes merged keys into the tree.
        return yaml.load(text, Loader=_Bounded), yaml.compose(text, Loader=yaml.SafeLoader)
    except FormatError:
        raise
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError) as error:
        # Dates that do not exist are a ValueError, not a YAMLError.
        raise FormatError(f"{source} is not valid YAML: {' '.join(str(error).split())}") from None


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """The value of a TOML text."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.count(".") > DOTS_IN_A_LINE:
            raise FormatError(f"{source}, line {number} has more than {DOTS_IN_A_LINE} dots; break the line")
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise FormatError(f"{source} nests lists and tables more than {NESTING} levels deep") from None
    except ValueError as error:
        raise FormatError(f"{source} is not valid TOML: {error}") from None
    require_shallow(content, source)
    _require_short_numbers(content, source)
    return content


class _Bounded(yaml.SafeLoader):
    """The safe loader, with whole numbers and fractions of a sensible length."""

    def number(self, node: yaml.ScalarNode) -> int | float:
        """A number, if it is not too long; in base 16 or 60 it may be longer than Python can print."""
        if len(node.value) > DIGITS:
            raise yaml.constructor.ConstructorError(
                None, None, f"a number of {len(node.value)} digits", node.start_mark
            )
        whole = node.tag == "tag:yaml.org,2002:int"
        return self.construct_yaml_int(node) if whole else self.construct_yaml_float(node)


for _tag in ("int", "float"):
    _Bounded.add_constructor(f"tag:yaml.org,2002:{_tag}", _Bounded.number)


@dataclass
class _Open:
    """A list or mapping whose end has not been met yet."""

    anchor: str | None
    size: int = 1


def _require_small(events: Iterable[Any], source: str) -> None:
    """Count the values as if every alias were written out, and the levels; neither is made to be counted."""
    sizes: dict[str, int] = {}
    path = [_Open(None)]
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            path.append(_Open(event.anchor))
            size = 0
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = path.pop()
            size = closed.size
            if closed.anchor:
                sizes[closed.anchor] = size
        elif isinstance(event, yaml.ScalarEvent):
            size = 1
            if event.anchor:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in [outer.anchor for outer in path]:
                raise FormatError(f"{source}: *{event.anchor} contains itself")
            size = sizes.get(str(event.anchor), 0)
        else:
            continue
        path[-1].size += size
        if len(path) > NESTING:
            raise FormatError(f"{source} nests lists and tables more than {NESTING} levels deep")
        if path[-1].size > SETTINGS_VALUES:
            raise FormatError(
                f"{source} holds more than {SETTINGS_VALUES:,} values once its aliases (*name) are written out"
            )


def _require_short_numbers(content: dict[str, Any], source: str) -> None:
    waiting: list[Any] = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, int) and abs(value) >= 10**DIGITS:
            raise FormatError(f"{source} holds a number of more than {DIGITS} digits")
