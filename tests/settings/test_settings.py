"""A setting is written once, and everything that knows a default, a range or a sentence has it from there."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
import yaml

import tightrope as tr
from tightrope.cli.app import app
from tightrope.cli.arguments.given import Given, in_run, own, takes
from tightrope.errors import UsageError
from tightrope.execution.backends.opening import BACKENDS
from tightrope.exploration.watch_length import SHORTEST_WATCH
from tightrope.references.searching import METHODS, SearchMethodName, default_budget
from tightrope.runs.configuration.config import CampaignConfig, sections
from tightrope.runs.configuration.configfile import commented_example, json_schema
from tightrope.runs.storage.artefacts import changes
from tightrope.runs.storage.layout import fuzzing_settings
from tightrope.runs.storage.manifest import Entry
from tightrope.settings import (
    EXPLAINING_STEPS,
    FINDING_STEPS,
    LIBRARY_BACKEND,
    LONGEST_WATCH,
    PROBING_STEPS,
    SEARCH_STEPS,
    SEARCH_STEPS_BY_REPLAY,
    AgentConfig,
    BisectConfig,
    ExecutionConfig,
    FailuresConfig,
    FuzzingConfig,
    KeepConfig,
    PerformanceConfig,
    PlainConfig,
    ReportConfig,
    RiskConfig,
    SafetyConfig,
    SearchConfig,
    Section,
    setting,
    shown,
)
from tightrope.settings.execution import BackendName
from tightrope.settings.ranges import Count, Fraction, Share
from tightrope.simulation import conformance_of
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.testing import corridor_task

SOURCE = Path(tr.__file__).parent
ROOT = Path(__file__).parents[2]
APART = {"risk": RiskConfig, "failures": FailuresConfig, "bisect": BisectConfig, "keep": KeepConfig}
PARTS: dict[str, type[Section]] = {"agents": AgentConfig, **sections(), **APART}
FUNCTIONS: dict[Callable[..., Any], type[Section]] = {
    tr.evaluate: PlainConfig,
    tr.search: SearchConfig,
    tr.run_suite: SafetyConfig,
    tr.decide_gate: SafetyConfig,
    tr.fuzz: FuzzingConfig,
    tr.fuzz_policy: FuzzingConfig,
    tr.Population: FuzzingConfig,
    tr.compare_performance: PerformanceConfig,
    tr.compare_robustness: PerformanceConfig,
    tr.estimate_failure: RiskConfig,
    tr.load_agent: AgentConfig,
    tr.bisect_checkpoints: BisectConfig,
    tr.search_failures: FailuresConfig,
}
TOLD = {
    (tr.search, "budget"): (SEARCH_STEPS, SEARCH_STEPS_BY_REPLAY),
    (tr.find_references, "budget"): (FINDING_STEPS,),
    (tr.probe_boundary, "budget"): (PROBING_STEPS,),
    (tr.search_failures, "budget"): (FailuresConfig.steps,),
    (tr.estimate_failure, "budget"): (RiskConfig.steps,),
    (tr.run_suite, "length"): (LONGEST_WATCH,),
    (tr.decide_gate, "length"): (LONGEST_WATCH,),
    (tr.bisect_checkpoints, "length"): (LONGEST_WATCH,),
    (tr.run_suite, "explain"): (EXPLAINING_STEPS,),
    (tr.explain, "length"): (SHORTEST_WATCH,),
    (tr.search, "repetitions"): (tr.repetitions(),),
}
"""Defaults that an argument's description says in words, since the signature has None or a name."""
ROOMS = {
    "evaluation": PlainConfig,
    "references": SearchConfig,
    "safety": SafetyConfig,
    "fuzzing": FuzzingConfig,
    "performance": PerformanceConfig,
    "report": ReportConfig,
    "risk": RiskConfig,
    "failures": FailuresConfig,
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_no_default_of_a_function_differs_from_the_setting(function: Callable[..., Any]) -> None:
    settings = FUNCTIONS[function].settings()
    given = {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if name in settings and parameter.default is not parameter.empty
    }
    assert given, "it has none of its step's settings"
    assert given == {name: settings[name].default for name in given}


@pytest.mark.parametrize(("function", "argument"), TOLD, ids=lambda part: getattr(part, "__name__", part))
def test_defaults_that_are_told_in_words_are_those_that_hold(function: Callable[..., Any], argument: str) -> None:
    args = inspect.getdoc(function).partition("Args:\n")[2]  # type: ignore[union-attr]
    told = re.search(rf"^    {argument}: (.*?)(?=^    \w|\Z)", args, re.MULTILINE | re.DOTALL)
    assert told is not None
    numbers = {int(each.replace(",", "")) for each in re.findall(r"\d[\d,]*", told[1])}
    assert set(TOLD[function, argument]) <= numbers


def test_budgets_have_the_steps_of_their_settings() -> None:
    """A budget that a function has by itself is made of settings: no number is written beside it."""
    written = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Budget"
        and any(isinstance(each.value, ast.Constant) and each.value.value is not None for each in node.keywords)
    ]
    assert written == []


def test_every_public_function_works_where_the_library_works() -> None:
    public = [getattr(tr, name) for name in tr.__all__ if name != "ExecutionConfig"]
    backends = {
        thing.__name__: inspect.signature(thing).parameters["backend"].default
        for thing in public
        if callable(thing) and "backend" in _parameters(thing)
    }
    assert len(backends) > 10
    assert set(backends.values()) == {LIBRARY_BACKEND}


def test_a_search_by_replay_gets_fewer_steps_unless_somebody_says_how_many() -> None:
    saved, replayed = tr.make_task("CartPole-v1"), corridor_task()
    conformance_of(replayed, replace(conformance_of(replayed), method=REPLAY))
    budgets = [default_budget(task) for task in (saved, replayed)]
    assert [budget.steps for budget in budgets] == [500_000, 100_000]
    assert {budget.seconds for budget in budgets} == {SearchConfig.seconds}
    assert default_budget(replayed, steps=700, seconds=None) == tr.Budget(steps=700)


def _parameters(thing: Any) -> Any:
    try:
        return inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return {}


def _written_defaults(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            positional = [*arguments.posonlyargs, *arguments.args]
            yield from (
                (argument.arg, value)
                for argument, value in zip(reversed(positional), reversed(arguments.defaults), strict=False)
            )
            yield from (
                (argument.arg, value)
                for argument, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
                if value is not None
            )


# Defaults of public functions that no setting has.
OF_THEIR_OWN = {("demonstrate", "episodes"), ("span_box", "levels")}


def test_no_default_is_written_a_second_time_under_another_name() -> None:
    functions = [thing for name in tr.__all__ if inspect.isfunction(thing := getattr(tr, name))]
    written = {
        (function.__name__, name)
        for function in functions
        for name, value in _written_defaults(ast.parse(inspect.getsource(function)))
        if isinstance(value, ast.Constant) and value.value not in (None, 0, True, False, "")
    }
    assert written == OF_THEIR_OWN


def test_no_default_is_written_a_second_time() -> None:
    """Not in any function of the room either, where nobody would look for it."""
    again = [
        f"{path.relative_to(SOURCE)}: {name}={ast.unparse(value)}"
        for room, section in ROOMS.items()
        for path in sorted((SOURCE / room).rglob("*.py"))
        for name, value in _written_defaults(ast.parse(path.read_text(encoding="utf-8")))
        if name in section.settings()
        and isinstance(value, ast.Constant | ast.Tuple)
        and section.settings()[name].default is not None
        and ast.literal_eval(value) == section.settings()[name].default
    ]
    assert again == []


@pytest.mark.parametrize(
    ("section", "values", "told"),
    [
        (FuzzingConfig, {"generations": 0}, "generations must be 1 or more, not 0; the default is 50"),
        (FuzzingConfig, {"mutation_stop": float("nan")}, "mutation_stop must be above 0 and at most 1, not nan"),
        (FuzzingConfig, {"truncation": 2}, "truncation must be above 0 and at most 1, not 2; without it: all are"),
        (FuzzingConfig, {"generations": 2.5}, "generations must be a whole number, not 2.5"),
        (FuzzingConfig, {"generations": True}, "generations must be a whole number, not True"),
        (FuzzingConfig, {"weights": (1, -1, 1)}, "weights must be values that are each 0 or more"),
        (FuzzingConfig, {"weights": 3}, "weights must be a list, not 3"),
        (SafetyConfig, {"gate_on": "low"}, "gate_on must be value or high, not 'low'; the default is value"),
        (SafetyConfig, {"max_fail": 1.2}, "max_fail must be between 0 and 1, not 1.2; without it: no gate"),
        (SafetyConfig, {"control": "yes"}, "control must be true or false, not 'yes'; the default is yes"),
        (ExecutionConfig, {"backend": 3}, "backend must be inline, processes or ray, not 3; the default is processes"),
    ],
)
def test_a_value_that_is_refused_names_the_rule_and_the_next_move(
    section: type[Section], values: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError) as caught:
        section(**values)
    assert told in str(caught.value)
    with pytest.raises(UsageError, match="must be"):
        section().changed(**values)


LAKE = tr.make_task("FrozenLake-v1", is_slippery=False)
RIGHT = tr.load_agent(lambda observation: 2, LAKE, name="right")
CASE = tr.TestCase(prefix=tr.ActionTrace(LAKE.label, 0), boundary=0, depth=0, kept=0)
SUITE = tr.TestSuite(kind="kept", parameters={}, reference=CASE.prefix, depths=(), cases=(CASE,))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: tr.find_references(LAKE, 2.5), "count must be a whole number, not 2.5"),
        (lambda: tr.find_references(LAKE, reset_seeds=0), "reset_seeds must be 1 or more, not 0"),
        (lambda: tr.search(LAKE, repetitions=1.5), "repetitions must be a whole number, not 1.5"),
        (lambda: tr.search(LAKE, max_depth=0), "max_depth must be 1 or more, not 0; leave it out for no limit"),
        (lambda: tr.evaluate(LAKE, RIGHT, episodes="3"), "episodes must be a whole number, not '3'"),
        (lambda: tr.evaluate(LAKE, RIGHT, episodes=0), "episodes must be 1 or more, not 0"),
        (lambda: tr.demonstrate(LAKE, RIGHT, episodes=0), "episodes must be 1 or more, not 0"),
        (lambda: tr.decide_gate(LAKE, RIGHT, SUITE, 2), "limit must be between 0 and 1, not 2"),
        (lambda: tr.decide_gate(LAKE, RIGHT, SUITE, 0.1, most=0), "most must be 1 or more, not 0"),
        (lambda: tr.bisect_checkpoints(LAKE, [RIGHT] * 2, SUITE, most=0), "most must be 1 or more, not 0"),
        (lambda: tr.shrink(LAKE, RIGHT, CASE, length=0), "length must be 1 or more, not 0"),
        (lambda: tr.random_suite(LAKE, 1.5), "must be a whole number, not 1.5"),
        (lambda: tr.Budget(steps=1.5), "a budget's steps must be a whole number, not 1.5"),
        (lambda: tr.Budget(seconds=float("nan")), "a budget's seconds must be 0 or more, not nan"),
    ],
)
def test_no_argument_is_taken_that_cannot_be_meant(call: Callable[[], Any], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert told in str(caught.value)


def test_settings_do_not_change() -> None:
    with pytest.raises(AttributeError):
        SafetyConfig().length = 3  # type: ignore[misc]


def _options(verb: str) -> dict[str, str]:
    """The flags of a verb with their help, as typer made them."""
    command = typer.main.get_command(app).commands[verb]  # type: ignore[attr-defined]
    flags = ((flag, parameter.help or "") for parameter in command.params for flag in _flags(parameter))
    return dict(flags)


def _flags(parameter: Any) -> list[str]:
    return [*parameter.opts, *parameter.secondary_opts]


@pytest.mark.parametrize(
    ("verb", "section"),
    [
        ("search", SearchConfig),
        ("safety", SafetyConfig),
        ("fuzz", FuzzingConfig),
        ("performance", PerformanceConfig),
        ("report", ReportConfig),
        ("risk", RiskConfig),
        ("bisect", BisectConfig),
        ("keep", KeepConfig),
        ("safety", ExecutionConfig),
        ("fuzz", ExecutionConfig),
        ("performance", ExecutionConfig),
        ("risk", AgentConfig),
        ("safety", AgentConfig),
    ],
)
def test_a_verb_has_the_options_of_its_step(verb: str, section: type[Section]) -> None:
    there = _options(verb)
    for each in section.settings().values():
        for flag in (part for name in each.flags for part in name.split("/")):
            told = there[flag]
            assert told.lower().startswith(each.about.sentence.lower())
            if isinstance(each.default, int | float) and not isinstance(each.default, bool):
                assert told.endswith(f"default: {shown(each.default)}.")


def test_run_has_the_options_that_say_so_and_no_two_of_one_name() -> None:
    there, said = (
        _options("run"),
        [flag for part in PARTS.values() for flags in in_run(part)[1].values() for flag in flags],
    )
    assert len(said) == len(set(said)) > 10
    assert set(said) <= set(there)


@dataclass(frozen=True, kw_only=True)
class Brewing(Section):
    """How tea is made."""

    minutes: Count = setting(4, "minutes to steep", short="-m")
    milk: Fraction | None = setting(None, "share of milk", none="black")
    sugar: Share | None = setting(0.1, "share of sugar", none="without")
    lemon: bool = setting(True, "whether lemon goes in")
    leaves: tuple[str, ...] = setting(("assam",), "what is in it", option="--leaf")


def brewed(*arguments: str) -> tuple[Brewing, str]:
    """What a command of five lines makes of a command line: the settings that came of it, and its help."""
    seen: list[Given] = []
    tea = typer.Typer(rich_markup_mode=None)

    @tea.command()
    @takes(tea=own(Brewing))
    def brew(given: Given = Given()) -> int:
        seen.append(given)
        return 0

    from typer.testing import CliRunner

    result = CliRunner().invoke(tea, list(arguments), catch_exceptions=True)
    if isinstance(result.exception, UsageError):
        raise result.exception
    return (seen[0].changed("tea", Brewing()) if seen else Brewing()), result.output


def test_a_setting_that_is_added_has_its_option_at_once() -> None:
    told = brewed("--help")[1]
    assert "Minutes to steep; default: 4." in told
    assert "Share of milk (5% or 0.05); default: black." in " ".join(told.split())
    assert "--no-lemon" in told
    assert brewed()[0] == Brewing()
    given = ("-m", "7", "--milk", "0.5", "--sugar", "0", "--no-lemon", "--leaf", "assam", "--leaf", "mint")
    expected = Brewing(minutes=7, milk=0.5, sugar=None, lemon=False, leaves=("assam", "mint"))
    assert brewed(*given)[0] == expected


def test_what_the_command_line_refuses_is_named_as_it_was_given() -> None:
    with pytest.raises(UsageError, match=r"--sugar must be above 0 and at most 1, not -0\.5"):
        brewed("--sugar", "-0.5")


def test_the_example_has_every_setting_with_its_sentence() -> None:
    text = commented_example(CampaignConfig(task="FrozenLake-v1", agents=(AgentConfig(source="a.onnx"),)))
    content, lines = yaml.safe_load(text), text.splitlines()
    for name, part in PARTS.items():
        if name in APART:
            continue
        written = content[name][0] if name == "agents" else content[name]
        assert list(written) == list(part.settings())
        for each in part.settings().values():
            assert any(
                line.strip(" -").startswith(f"{each.name}:") and line.endswith(f"# {each.about.description}")
                for line in lines
            )


def test_the_schema_has_every_sentence_and_every_bound() -> None:
    schema = json.loads(json_schema())
    for part in {AgentConfig, *sections().values()}:
        described = schema["$defs"][part.__name__]["properties"]
        assert {name: each["description"] for name, each in described.items()} == {
            name: each.about.description for name, each in part.settings().items()
        }
    fuzzing = schema["$defs"]["FuzzingConfig"]["properties"]
    assert fuzzing["generations"]["minimum"] == 1
    assert (fuzzing["mutation_stop"]["exclusiveMinimum"], fuzzing["mutation_stop"]["maximum"]) == (0, 1)


def test_the_page_of_all_settings_is_up_to_date() -> None:
    path = ROOT / "docs" / "settings_page.py"
    spec = importlib.util.spec_from_file_location("settings_page", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "python docs/settings_page.py writes it anew"


def test_what_was_made_before_there_was_a_setting_was_made_by_its_default() -> None:
    now = CampaignConfig(task="t")
    settings = fuzzing_settings(now)
    old = {name: value for name, value in settings.items() if name != "fuzzing.truncation"}
    old = {name: value for name, value in old.items() if name != "fuzzing.mutation_size"}
    entry = Entry(checksum="", ids={}, settings=old, sources=())
    assert list(changes(entry, settings, ())) == []
    other = fuzzing_settings(now.model_copy(update={"fuzzing": FuzzingConfig(mutation_size=3)}))
    assert [str(change) for change in changes(entry, other, ())] == ["fuzzing.mutation_size was 15, now 3"]


def test_every_setting_decides_something_that_is_stored_or_says_that_it_does_not() -> None:
    """A name of something that nobody makes would let a setting change without anything being made anew."""
    known = {*sections(), "probing", "survival", "others", "whys"}
    said = {thing for part in PARTS.values() for things in part.deciding().values() for thing in things or ()}
    assert said <= known
    assert not ExecutionConfig.deciding()
    assert not ReportConfig.deciding()
    assert not set(SafetyConfig.gates()) & set(SafetyConfig.deciding())


def test_names_that_a_type_checker_knows_are_those_that_there_are() -> None:
    offered, _ = get_args(SearchMethodName)
    assert set(get_args(offered)) == set(METHODS)
    assert set(get_args(BackendName)) == set(BACKENDS)
