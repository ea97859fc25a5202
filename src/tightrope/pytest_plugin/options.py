"""Options and ini settings of the plugin, and where its runs are kept."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pytest

from tightrope.settings import Fraction, PlainConfig, broken_rule, parse_share

CACHE = "tightrope"
TRUST = "--tightrope-trust"


def add_options(parser: pytest.Parser) -> None:
    """Options for suite files."""
    group = parser.getgroup("tightrope", "testing of trained agents")
    group.addoption("--tightrope-agent", metavar="AGENT", help="agent that collected *.suite.json files test")
    group.addoption(TRUST, action="store_true", help="let suite files name code to run, and agents be unpickled")
    parser.addini("tightrope_trust", "let suite files name code to run, and agents be unpickled", type="bool")
    parser.addini("tightrope_agent", "agent that collected *.suite.json files test", default="")
    parser.addini("tightrope_max_fail", "fail frequency allowed at a boundary state of a suite file", default="0")
    parser.addini(
        "tightrope_episodes", "plain episodes of the agent of a suite file; 0: none", default=str(PlainConfig.episodes)
    )
    parser.addini("tightrope_max_fail_plain", "share of plain episodes that may end unsafe; empty: any", default="")
    parser.addini(
        "tightrope_repetitions", "executions of each case of a suite file; empty: as the task says", default=""
    )
    parser.addini("tightrope_length", "steps to survive in a suite file's cases; empty: as the task says", default="")


def refuse_what_is_no_number(config: pytest.Config) -> None:
    """Once, before anything is collected."""
    share_option(config, "tightrope_max_fail")
    if config.getini("tightrope_max_fail_plain"):
        share_option(config, "tightrope_max_fail_plain")
    count_option(config, "tightrope_episodes", least=0)
    optional_count(config, "tightrope_repetitions")
    optional_count(config, "tightrope_length")


def share_option(config: pytest.Config, option: str) -> float:
    """An ini setting that is a share."""
    told = str(config.getini(option))
    try:
        value = parse_share(told)
    except ValueError:
        value = math.nan
    if broken_rule(Fraction, value):
        raise pytest.UsageError(f"{option} is {told!r}; allowed is a number from 0 to 1, such as 0.1 or 10%")
    return value


def count_option(config: pytest.Config, option: str, *, least: int = 1) -> int:
    """An ini setting that is a whole number."""
    told = str(config.getini(option)).strip()
    if not (told.isdecimal() and int(told) >= least):
        raise pytest.UsageError(f"{option} is {told!r}; allowed is a whole number from {least} on, such as 10")
    return int(told)


def optional_count(config: pytest.Config, option: str) -> int | None:
    """An ini setting that is a whole number; None where it is empty: as the task says."""
    return count_option(config, option) if config.getini(option) else None


def agent_option(config: pytest.Config) -> str:
    """The agent that suite files test; empty: none."""
    return str(config.getoption("--tightrope-agent") or config.getini("tightrope_agent"))


def trusted(config: pytest.Config) -> bool:
    """Whether suite files may name code to run, and agents be unpickled."""
    return bool(config.getoption(TRUST) or config.getini("tightrope_trust"))


def kept_folder(config: pytest.Config) -> Path:
    """Where runs are kept; without pytest's cache (``-p no:cacheprovider``) nothing is, beyond this run."""
    cache = getattr(config, "cache", None)
    return Path(cache.mkdir(CACHE)) if cache is not None else Path(tempfile.mkdtemp(prefix=f"{CACHE}-"))
