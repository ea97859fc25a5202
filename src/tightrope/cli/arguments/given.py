"""Options that follow from settings, and what was given by them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import typer

from tightrope.runs.configuration.config import CampaignConfig, sections
from tightrope.settings import Section, Setting, parse_share, shown

S = TypeVar("S", bound=Section)
Flags = tuple[str, ...]
METAVARS = {"seconds": "SECONDS", "step_timeout": "SECONDS", "ray_address": "ADDRESS", "demonstration": "FILE"}
"""What stands for a value in the help, where its type alone says too little."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """One setting on the command line of one verb."""

    part: str
    """The part of the configuration that it belongs to."""
    setting: Setting
    flags: Flags

    @property
    def help(self) -> str:
        """The setting's sentence, and what it is when the option is not given."""
        about, default = self.setting.about, self.setting.default
        told = about.sentence[0].upper() + about.sentence[1:]
        if self.zero_is_none:
            told += f"; 0: {about.none}"
        if self.setting.is_share:
            told += " (5% or 0.05)"
        usual = about.none if default is None else "" if isinstance(default, bool) else shown(default)
        return f"{told}; default: {usual}." if usual else f"{told}."

    @property
    def zero_is_none(self) -> bool:
        """Whether 0 stands for None, which nobody can type: where there is a limit unless one says otherwise."""
        return self.setting.optional and self.setting.default is not None

    @property
    def parameter(self) -> inspect.Parameter:
        """The parameter from which typer makes the option; None: not given."""
        kind, bounds = self.setting.kind, self.setting.range
        several = get_origin(kind) is tuple
        whole = kind is int
        lowest = 0 if self.zero_is_none and bounds.at_least is not None else bounds.at_least
        option = typer.Option(
            *self.flags,
            help=self.help + (" Repeatable." if several else ""),
            min=None if lowest is None else int(lowest) if whole else lowest,
            max=None if bounds.at_most is None else int(bounds.at_most) if whole else bounds.at_most,
            metavar=METAVARS.get(self.setting.name) or ("SHARE" if self.setting.is_share else None),
            parser=told_share if self.setting.is_share else None,
            autocompletion=_one_of(get_args(kind)) if get_origin(kind) is Literal else None,
            show_default=False,
        )
        annotation = list[str] if several else str if get_origin(kind) is Literal else kind
        return inspect.Parameter(
            self.key, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[annotation | None, option]
        )

    @property
    def key(self) -> str:
        """Its name among the arguments of a command."""
        return f"{self.part}_{self.setting.name}"

    def value(self, told: Any) -> Any:
        """What was told, as the setting has it."""
        if self.zero_is_none and told == 0:
            return None
        value = tuple(told) if isinstance(told, list) else told
        self.setting.require(value, self.flags[0].partition("/")[0])
        return value


def told_share(text: str) -> float:
    """A share as it was typed; who types 5 means 5%, which no share of a whole can be taken for."""
    try:
        share = parse_share(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}.") from None
    if 1 < share <= 100 and text.strip().isdecimal():
        raise typer.BadParameter(f"{text} would be {share:.0%} of the whole; write {share:g}% or {share / 100:g}.")
    return share


def _one_of(words: tuple[str, ...]) -> Callable[[str], list[str]]:
    """What a shell offers where only these words may stand."""

    def offered(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return offered


@dataclass(frozen=True)
class Given:
    """What was given on the command line: values by part of the configuration and name."""

    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def get(self, part: str, name: str) -> Any:
        """One value; None where it was not given."""
        return self.values.get(part, {}).get(name)

    def changed(self, part: str, section: S) -> S:
        """A part of the configuration with what was given of it in place of its own values."""
        return section.changed(**self.values.get(part, {}))

    def applied(self, config: CampaignConfig) -> CampaignConfig:
        """A configuration with what was given in place of its own values."""
        parts = {part: self.changed(part, getattr(config, part)) for part in sections() if part in self.values}
        return config.model_copy(update=parts)


def takes(**parts: tuple[type[Section], Mapping[str, Flags]]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command an option for each of these settings; it is called with what was ``given`` of them.

    The options stand in its help where ``given`` stands among its arguments.

    Args:
        **parts: The settings by the part of the configuration that they are in, as ``own`` lists them.
    """
    options = [
        Option(part=part, setting=section.settings()[name], flags=flags)
        for part, (section, named) in parts.items()
        for name, flags in named.items()
    ]

    def decorated(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def called(**arguments: Any) -> int:
            told = [(option, arguments.pop(option.key)) for option in options]
            return command(given=_given(told), **arguments)

        signature = inspect.signature(command, eval_str=True)
        parameters = list(_with(signature, options))
        # What typer looks at.
        called.__dict__["__signature__"] = signature.replace(parameters=parameters)
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return decorated


def own(section: type[Section], *names: str) -> tuple[type[Section], Mapping[str, Flags]]:
    """Settings as the verb of their step has them; without names all that have an option.

    Args:
        section: The settings of the step.
        *names: Which of them.
    """
    settings = section.settings().values()
    return section, {each.name: each.flags for each in settings if each.flags and (not names or each.name in names)}


def in_run(section: type[Section]) -> tuple[type[Section], Mapping[str, Flags]]:
    """Settings that ``tightrope run`` has options for."""
    return section, {each.name: each.run_flags for each in section.settings().values() if each.run_flags}


def _given(told: list[tuple[Option, Any]]) -> Given:
    values: dict[str, dict[str, Any]] = {}
    for option, value in told:
        if value is not None and value != []:
            values.setdefault(option.part, {})[option.setting.name] = option.value(value)
    return Given(values)


def _with(signature: inspect.Signature, options: list[Option]) -> Iterator[inspect.Parameter]:
    for parameter in signature.parameters.values():
        if parameter.name == "given":
            yield from (option.parameter for option in options)
        else:
            yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
