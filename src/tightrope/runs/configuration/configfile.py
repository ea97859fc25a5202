"""Reading and writing campaign files. An error says the line, the rule and the nearest right name."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from tightrope.errors import FormatError, UsageError
from tightrope.files import read_content
from tightrope.files.limits import SETTINGS_FILE
from tightrope.files.settings import parse_toml, parse_yaml
from tightrope.runs.configuration.config import CampaignConfig, settings_in
from tightrope.runs.configuration.tomllines import Location, toml_lines
from tightrope.settings import Section, Setting, broken_rule

Settings = TypeVar("Settings", bound=BaseModel)


def load_config(path: str | PathLike[str]) -> CampaignConfig:
    """Read and validate a campaign file.

    Args:
        path: A YAML or TOML file, told by its name.
    """
    return load_settings(Path(path), CampaignConfig)


def load_settings(path: Path, model: type[Settings]) -> Settings:
    """Read and validate a file of settings, YAML or TOML by its name.

    Args:
        path: The file.
        model: What it must hold: a pydantic model.
    """
    try:
        text = read_content(path, SETTINGS_FILE).decode("utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not a text in UTF-8: {error}") from None
    content, lines = _parse(path, text)
    if not isinstance(content, dict):
        raise UsageError(f"{path}: this must be a mapping of settings; `tightrope init TASK` writes an example")
    try:
        return model.model_validate(content)
    except ValidationError as error:
        toml = path.suffix == ".toml"
        problems = [f"{path}{_line(lines, item['loc'])}: {_explain(item, model, toml)}" for item in error.errors()]
        raise UsageError("\n".join(problems)) from None


def configured(**content: Any) -> CampaignConfig:
    """A configuration from plain values, which were given in Python."""
    try:
        return CampaignConfig.model_validate(content)
    except ValidationError as error:
        raise UsageError("; ".join(_explain(item, CampaignConfig, False) for item in error.errors())) from None


def json_schema() -> str:
    """The JSON Schema of campaign files."""
    return json.dumps(CampaignConfig.model_json_schema(), indent=2)


def commented_example(config: CampaignConfig) -> str:
    """The configuration as YAML with what each setting means beside it."""
    return "\n".join(_commented(config, indent=0)) + "\n"


def _parse(path: Path, text: str) -> tuple[Any, dict[Location, int]]:
    if path.suffix == ".toml":
        return parse_toml(text, str(path)), toml_lines(text)
    content, node = parse_yaml(text, str(path))
    if node is None:
        return content, {}
    lines = dict(_lines_of(node, ()))
    repeated = [f"{path}, {told}" for told in dict.fromkeys(_repeated_keys(node))]
    if repeated:
        raise UsageError("\n".join(repeated))
    return content, lines


def _repeated_keys(node: yaml.Node) -> Iterator[str]:
    """What to say of each key that stands twice in one mapping, where YAML would drop the first without a word."""
    if isinstance(node, yaml.MappingNode):
        first: dict[tuple[str, str], int] = {}
        for key, value in node.value:
            line, name = key.start_mark.line + 1, (key.tag, key.value)
            # Several merges (<<) into one mapping lose nothing.
            if name in first and key.tag != "tag:yaml.org,2002:merge":
                yield f"line {line}: {key.value!r} is there twice (first in line {first[name]}); keep one of them"
            first.setdefault(name, line)
            yield from _repeated_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _repeated_keys(value)


def _lines_of(node: yaml.Node, location: Location) -> Iterator[tuple[Location, int]]:
    yield location, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _lines_of(value, (*location, key.value))
            yield (*location, key.value), key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _lines_of(value, (*location, index))


def _line(lines: dict[Location, int], location: Location) -> str:
    for length in range(len(location), 0, -1):
        if location[:length] in lines:
            return f", line {lines[location[:length]]}"
    return ""


def _explain(item: Any, model: type[BaseModel], toml: bool) -> str:
    where = ".".join(map(str, item["loc"]))
    if item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        known = list(_fields_at(item["loc"][:-1], model))
        near = difflib.get_close_matches(str(item["loc"][-1]), known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}"
        return f"there is no setting {where!r}; {hint}"
    if item["type"] == "missing":
        return f"{where!r} is missing"
    if item["type"] == "tuple_type":
        return f"{where!r} is {item['input']!r}: it is a list{_as_list(item['input'], toml)}"
    if item["type"] == "dataclass_type" and isinstance(item["loc"][-1], int):
        return f"{where!r} is {item['input']!r}: it is a table; {_as_entry(item, model, toml)}"
    if item["type"] == "dataclass_type":
        return f"{where!r} is {item['input']!r}: it is a table of settings: {', '.join(_fields_at(item['loc'], model))}"
    return f"{where!r} is {item['input']!r}: {_rule(item, model)}"


def _rule(item: Any, model: type[BaseModel]) -> str:
    """What a setting must be, and is not."""
    *outer, last = item["loc"]
    within = isinstance(last, int)
    found = _fields_at(outer[:-1] if within else outer, model).get(outer[-1] if within else last)
    kind = None if found is None else _item(found.type, last) if within else found.type
    rule = "" if kind is None else broken_rule(kind, item["input"])
    if found is None or not rule:
        return f"{item['msg'][0].lower()}{item['msg'][1:]}"
    return f"it must be {rule}{found.advice}"


def _item(type_: Any, index: int) -> Any:
    """What stands at a place of a list; None where the setting is a table, and the place a key that is no name."""
    types = get_args(type_)
    if not types:
        return None
    return types[index] if index < len(types) and types[-1] is not Ellipsis else types[0]


def _as_list(value: Any, toml: bool) -> str:
    if isinstance(value, dict):
        return "; write [[…]] above each entry" if toml else "; begin each entry with `- `"
    return f", as in `[{json.dumps(value) if toml else value}]`" if isinstance(value, str) else ""


def _as_entry(item: Any, model: type[BaseModel], toml: bool) -> str:
    *outer, _ = item["loc"]
    setting = next(iter(_fields_at(item["loc"], model)))
    if toml:
        return f"write `[[{'.'.join(map(str, outer))}]]`, and `{setting} = {json.dumps(item['input'])}` below it"
    return f"write `- {setting}: {item['input']}`"


def _fields_at(location: Sequence[int | str], model: type[BaseModel]) -> Mapping[str, Setting]:
    """The settings of the part of a configuration that is there."""
    here = settings_in(model)
    for part in location:
        if isinstance(part, str):
            here = settings_in(_section_of(here[part].type))
    return here


def _section_of(annotation: Any) -> Any:
    candidates = [annotation, *get_args(annotation)]
    return next((kind for kind in candidates if isinstance(kind, type) and issubclass(kind, Section | BaseModel)), None)


def _commented(section: BaseModel | Section, indent: int) -> Iterator[str]:
    pad = "  " * indent
    for name, setting in settings_in(type(section)).items():
        value = getattr(section, name)
        if isinstance(value, Section):
            summary = re.sub(r"\s+", " ", (type(value).__doc__ or "").strip())
            yield f"\n{pad}# {summary}"
            yield f"{pad}{name}:"
            yield from _commented(value, indent + 1)
        elif isinstance(value, tuple) and value and isinstance(value[0], Section):
            yield f"{pad}{name}:  # {setting.about.description}"
            for entry in value:
                first, *rest = _commented(entry, indent + 2)
                yield f"{pad}  - {first.strip()}"
                yield from rest
        else:
            text = json.dumps(value if not isinstance(value, Path) else str(value))
            yield f"{pad}{name}: {text}  # {setting.about.description}"
