"""Writes docs/settings.md: every setting, as its section says it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING
from pathlib import Path
from typing import Literal, get_args, get_origin

from tightrope.runs.configuration.config import CampaignConfig, sections, settings_in
from tightrope.settings import AgentConfig, BisectConfig, FailuresConfig, KeepConfig, RiskConfig, Section, Setting

PAGE = Path(__file__).parent / "settings.md"
HEAD = """# All settings

Each is written once, in `src/tightrope/settings/`; this page, campaign files, the command line and the defaults of
functions follow from there. `tightrope init TASK` writes a file with all of them. Options that `tightrope run` has are
marked ⏵; the others are those of the verb of their step. Shares may be written as `5%` or `0.05`, in files, too. A
setting that is refused names its rule, its value and its default.
"""
VERBS = {"plain": "run", "fuzzing": "fuzz", "agents": "run`, `safety`, `performance`, `risk"}
"""Which verb has the options of a part, where it is not called as the part."""
APART = {"risk": RiskConfig, "failures": FailuresConfig, "bisect": BisectConfig, "keep": KeepConfig}
"""Settings of verbs that are no part of a campaign."""
EVERYWHERE = "every verb that plays"


def page() -> str:
    """The whole page."""
    parts = {"agents": AgentConfig, **sections(), **APART}
    return "\n".join([HEAD, *_campaign(), *(line for name, part in parts.items() for line in _part(name, part))])


def _campaign() -> Iterator[str]:
    yield "## The campaign\n\n| setting | default | what it is |\n|---|---|---|"
    for name, setting in settings_in(CampaignConfig).items():
        if setting.about.sentence and name != "agents":
            yield f"| `{name}` | {_default(setting)} | {setting.about.sentence} |"
    yield ""


def _part(name: str, section: type[Section]) -> Iterator[str]:
    verb = EVERYWHERE if name == "execution" else f"`tightrope {VERBS.get(name, name)}`"
    where = f"In campaign files: `{name}`. " if name not in APART else ""
    yield f"## {name}\n\n{section.__doc__} {where}Options: {verb}.\n"
    yield "| setting | default | range | option | what it is |\n|---|---|---|---|---|"
    for setting in section.settings().values():
        option = _option(setting, is_run=name == "plain")
        told = setting.about.sentence + (f"; `null`: {setting.about.none}" if setting.about.none else "")
        yield f"| `{setting.name}` | {_default(setting)} | {_range(setting)} | {option} | {told} |"
    yield ""


def _default(setting: Setting) -> str:
    return "" if setting.default is MISSING else f"`{json.dumps(setting.default, ensure_ascii=False)}`"


def _range(setting: Setting) -> str:
    choices = get_args(setting.kind) if get_origin(setting.kind) is Literal else ()
    return " or ".join(f"`{choice}`" for choice in choices) or str(setting.range)


def _option(setting: Setting, *, is_run: bool) -> str:
    flags = setting.run_flags if is_run else setting.flags
    return ", ".join(f"`{flag}`" for flag in flags) + (" ⏵" if setting.run_flags and flags else "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
