"""What a setting is: a field with a default, a range and one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from types import NoneType
from typing import Annotated, Any, Self, TypeVar, get_args, get_origin, get_type_hints

from tightrope.settings.ranges import Range, require, shown

T = TypeVar("T")

SAME = "same"
"""In place of an option's name: as in the verb of its step."""


@dataclass(frozen=True, kw_only=True)
class About:
    """What is said of a setting where it is written."""

    sentence: str
    none: str = ""
    option: str | None = None
    short: str = ""
    run: str = ""
    gate: bool = False
    decides: tuple[str, ...] | None = None
    least: int | None = None
    whole: int | None = None

    @property
    def description(self) -> str:
        """What it is, and what it means to leave it empty."""
        return f"{self.sentence}; null: {self.none}" if self.none else self.sentence


def setting(
    default: T,
    sentence: str,
    *,
    none: str = "",
    option: str | None = None,
    short: str = "",
    run: bool | str = False,
    gate: bool = False,
    decides: tuple[str, ...] | None = None,
    least: int | None = None,
    whole: int | None = None,
) -> T:
    """A field of a section.

    Args:
        default: Its value where nobody gives another.
        sentence: What it is, in a few plain words.
        none: What None stands for, where it may be None.
        option: How the verb of its step calls it; default: as the field. Empty: not on the command line.
        short: The same in one letter, as in ``-n``.
        run: Whether ``tightrope run`` has the option too, or how it calls it there.
        gate: Whether it judges results and changes none.
        decides: Which stored things are made by it; default: those of its step. Nothing: it only chooses among them.
        least: What is left of its default at least where a run spends a part of all defaults, since a step or an
            answer is slow; None: it is not made smaller.
        whole: What that is a part of, where the default is None.
    """
    about = About(
        sentence=sentence,
        none=none,
        option=option,
        short=short,
        run=run if isinstance(run, str) else SAME if run else "",
        gate=gate,
        decides=() if gate else decides,
        least=least,
        whole=whole,
    )
    return field(default=default, metadata=_metadata(about))


def required(sentence: str) -> Any:
    """A field of a section that has no default, and only names what is used."""
    return field(metadata=_metadata(About(sentence=sentence, option="", decides=())))


def _metadata(about: About) -> dict[str, Any]:
    # The JSON Schema of campaign files takes its description from here.
    return {"description": about.description, "about": about}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One setting, as everything that follows from it sees it."""

    name: str
    type: Any
    """As it is annotated, ranges included."""
    default: Any
    """MISSING where it must be given."""
    about: About

    @property
    def optional(self) -> bool:
        """Whether it may be None."""
        return NoneType in get_args(self.type)

    @property
    def kind(self) -> Any:
        """Its type without None and without ranges."""
        (first, *_) = [part for part in get_args(self.type) if part is not NoneType] if self.optional else [self.type]
        return get_args(first)[0] if get_origin(first) is Annotated else first

    @property
    def range(self) -> Range:
        """The numbers it may have; one without bounds for what is no number."""
        parts = (self.type, *get_args(self.type))
        found = [extra for part in parts if get_origin(part) is Annotated for extra in part.__metadata__]
        return next((extra for extra in found if isinstance(extra, Range)), Range())

    @property
    def is_share(self) -> bool:
        """Whether it is a part of a whole, which people also give in percent."""
        return self.kind is float and self.range.at_most == 1

    @property
    def flags(self) -> tuple[str, ...]:
        """What it is called on the command line of its step's verb; none: it is not there."""
        option, flag = self.about.option, f"--{self.name.replace('_', '-')}"
        if option is None:
            option = f"{flag}/--no-{flag[2:]}" if self.default is True else flag
        return tuple(part for part in (option, self.about.short) if part)

    @property
    def run_flags(self) -> tuple[str, ...]:
        """What it is called on the command line of ``tightrope run``; none: it is not there."""
        return self.flags if self.about.run == SAME else (self.about.run,) if self.about.run else ()

    def require(self, value: Any, called: str = "") -> None:
        """Refuse a value that it may not have, by the name it was given under."""
        require(called or self.name, value, self.type, self.advice)

    @property
    def advice(self) -> str:
        """What to do about a value that is refused."""
        if self.default is MISSING:
            return ""
        if self.default is None:
            return f"; without it: {self.about.none}" if self.about.none else "; it may be left out"
        return f"; the default is {shown(self.default)}"


@dataclass(frozen=True, kw_only=True)
class Section:
    """The settings of one step. One that breaks its range is refused as soon as it is there."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic looks for a plain dictionary

    def __post_init__(self) -> None:
        for each in self.settings().values():
            each.require(getattr(self, each.name))

    @classmethod
    def settings(cls) -> Mapping[str, Setting]:
        """Its settings by name, in the order they are written in."""
        return _settings(cls)  # type: ignore[arg-type]  # a class is hashable, whatever its instances are

    @classmethod
    def require(cls, **values: Any) -> None:
        """Refuse values that these settings may not have."""
        for name, value in values.items():
            cls.settings()[name].require(value)

    @classmethod
    def gates(cls) -> dict[str, Any]:
        """The settings that are gates, and what they are when none is asked for."""
        return {name: each.default for name, each in cls.settings().items() if each.about.gate}

    @classmethod
    def deciding(cls) -> dict[str, tuple[str, ...] | None]:
        """The settings by which results are made, and of which things; None: those of this step."""
        said = {name: each.about.decides for name, each in cls.settings().items()}
        return {name: things for name, things in said.items() if things != ()}

    def how(self) -> dict[str, Any]:
        """The values of the settings by which results are made."""
        return {name: getattr(self, name) for name in self.deciding()}

    def changed(self, **values: Any) -> Self:
        """The same with some values in place of its own."""
        return replace(self, **values)


@cache
def _settings(section: type[Section]) -> Mapping[str, Setting]:
    hints = get_type_hints(section, include_extras=True)
    return {
        each.name: Setting(name=each.name, type=hints[each.name], default=each.default, about=each.metadata["about"])
        for each in fields(section)
    }
