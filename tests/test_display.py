"""Results and agents show themselves: shortly in a terminal, as a small table in a notebook."""

from __future__ import annotations

import dataclasses
import inspect
import pkgutil
import typing
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import tightrope as tr
import tightrope.agents
import tightrope.failures
import tightrope.fuzzing
import tightrope.report
import tightrope.testing
import tightrope.training
from tightrope.agents import TranslatedAgent
from tightrope.display import Shown
from tightrope.svg import Bar, Line, lines_svg, shares_svg
from tightrope.testing import JUMP, WALK, corridor_task

HOSTILE = "<script>alert('x')</script>&\"\n" + "long " * 100


def returned_classes() -> Iterator[type]:
    """The classes of tightrope that public functions give back, but for the settings read from a file."""
    for name in tr.__all__:
        function = getattr(tr, name)
        if inspect.isfunction(function):
            annotation = typing.get_type_hints(function, include_extras=False).get("return")
            for part in (annotation, *typing.get_args(annotation)):
                if dataclasses.is_dataclass(part) and isinstance(part, type):
                    yield part


# What users hand in or write themselves, what they are called with, and what is made for every step.
HANDED_IN = {
    "AgentLoader", "AgentRequest", "Budget", "LevelMap", "Progress", "SearchSession", "Step",
    "SuiteKind", "SuiteRequest", "Transition", "Visit", "World",
}  # fmt: skip


def public_values() -> Iterator[type]:
    """Every other value that is public: parts of results, and what the report is a view of."""
    for module in (tr, tightrope.report, tightrope.training):
        for name in module.__all__:
            value = getattr(module, name)
            if (
                inspect.isclass(value)
                and dataclasses.is_dataclass(value)
                and name not in HANDED_IN
                and not name.endswith("Config")
            ):
                yield value
    yield from (tr.Engine, tr.Population, tr.SequentialGate, tr.Simulator)


def agent_classes() -> Iterator[type]:
    rooms = (tightrope.agents, tightrope.failures, tightrope.fuzzing, tightrope.testing)
    modules = (module.name for room in rooms for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."))
    for module in modules:
        for value in vars(import_module(module)).values():
            if inspect.isclass(value) and hasattr(value, "act") and value is not tr.Agent and value.__name__[0] != "_":
                yield value


@pytest.mark.parametrize("kind", sorted({*returned_classes(), *public_values(), *agent_classes()}, key=str))
def test_results_and_agents_show_themselves(kind: type) -> None:
    assert issubclass(kind, Shown)
    # A dataclass writes out all that it holds, unless it is told not to.
    assert not (kind._shown and hasattr(kind.__repr__, "__wrapped__"))


@dataclasses.dataclass(repr=False)
class Thing(Shown):
    name: str
    values: Any
    hidden: str = dataclasses.field(default=HOSTILE, repr=False)


def test_what_is_shown_cannot_run() -> None:
    html = Thing(HOSTILE, {HOSTILE: 1})._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_rates_are_printed_in_percent() -> None:
    task = corridor_task()
    walker = tr.load_agent(lambda observation: WALK, task, name="walker")
    told = repr(tr.evaluate(task, walker, 3))
    assert "plain episodes, unsafe 100% (" in told
    assert "n=1 in plain episodes" not in told, "the question is told once"


def test_a_table_tells_few_values_one_by_one_and_long_ones_by_their_number() -> None:
    assert "<td>(1, 2)</td>" in Thing("a", (1, 2))._repr_html_()
    assert "<td>2</td>" in Thing("a", ("x" * 100, "y" * 100))._repr_html_(), "not the beginning of the first"
    assert "<td>none</td>" in Thing("a", ())._repr_html_()


def test_one_short_line_whatever_the_values_are() -> None:
    thing = Thing(HOSTILE, list(range(1000)))
    assert "\n" not in repr(thing)
    assert len(repr(thing)) < 120
    assert "1000 values" in repr(thing)
    assert repr(Thing("a", (1, 2))) == "Thing(name='a', values=(1, 2))"
    assert repr(Thing("a", tr.Outcome.GOAL)) == "Thing(name='a', values=goal)"
    assert (
        repr(Thing("a", tr.Estimate(0.5, 0.25, 0.75, 8, "by hand"))) == "Thing(name='a', values=0.5 [0.25, 0.75] n=8)"
    )


def test_the_values_of_a_whole_session_are_short_and_tables() -> None:
    task = corridor_task()
    agent = tr.load_agent(lambda observation: JUMP, task, name="<b>jumper</b>")
    found = tr.search(task, budget=tr.Budget(steps=2000))
    assert found.reference is not None
    suite = tr.simple_suite(found.reference)
    result = tr.run_suite(task, agent, suite, repetitions=2)
    other = tr.run_suite(task, tr.load_agent(lambda observation: WALK, task, name="walker"), suite, repetitions=2)
    bred = tr.fuzz(task, found.reference.actions, generations=2, population=4)
    performance = tr.compare_performance(task, agent, bred.fittest, 2)
    plainly = tr.evaluate(task, agent, 2)
    robustness = tr.compare_robustness(task, agent, bred.fittest, 2, 2)
    for value in (
        task, agent, TranslatedAgent(agent, (JUMP,)), tr.check_task(task), plainly, plainly.episodes[0],
        plainly.episodes[0].rollout, found, found.reference, found.reference.actions, suite, result,
        result.fail_frequency, tr.compare_safety(result, other), bred, performance, robustness,
        result.cases[0], result.boundary_states[0], other.failure_groups[0], result.unseen,
    ):  # fmt: skip
        assert len(repr(value)) < 400, repr(value)
        assert "\n" not in repr(value)
        html = value._repr_html_()  # type: ignore[attr-defined]
        assert html.startswith("<table>")
        assert "<b>" not in html
    assert [">place #1</text>" in result._repr_html_(), "100%" in other._repr_html_()] == [True, True]
    assert ">reach the goal</text>" in plainly._repr_html_()
    assert "walker</text>" in tr.compare_safety(result, other)._repr_html_()
    assert "<td>100% (exact, n = 2) on these cases</td>" in other._repr_html_(), "shares in percent"
    assert "points (" in tr.compare_safety(result, other)._repr_html_()
    told = other.failure_groups[0]._repr_html_()
    assert f"<td>case {other.cases[0].case.id[:8]}: fails in 100% (exact, n = 1) on these cases</td>" in told
    assert f"<tr><th>why</th><td>{other.failure_groups[0].why}" in told
    excused = replace(other.failure_groups[0], excused=True)
    assert excused.avoidable is None
    assert "<td>not known to be avoidable</td>" in excused._repr_html_(), "not none of it"
    assert ">place</th><td>1</td>" in result.boundary_states[0]._repr_html_()
    lines = [drawn._repr_html_() for drawn in (bred, robustness)]
    assert [html.count("<polyline") for html in lines] == [2, 2], "fuzzing and random traces, agent and traces"
    assert [(">random traces</text>" in html, ">fuzz traces</text>" in html) for html in lines] == [
        (True, False), (False, True),
    ]  # fmt: skip


def test_a_small_chart_of_lines_holds_what_was_measured_and_nothing_else() -> None:
    lines = [Line(label="<b>", points=[(0, 2.0), (5, None), (10, 4.0)]), Line(label="other", points=[(0, 3.0)])]
    drawn = lines_svg(lines, "t", "length")
    assert drawn.count("<circle") == 3
    assert 'points="170.0,128.0 470.0,8.0"' in drawn, "from the least at the bottom to the greatest at the top"
    assert "&lt;b&gt;" in drawn
    assert lines_svg([Line(label="a", points=[(0, None)])], "t", "length") == ""
    assert "nan" not in lines_svg([Line(label="a", points=[(3, 1.0)])], "t", "length")


GOLDEN = Path(__file__).parent / "golden" / "shares.svg"


def test_a_small_chart_is_drawn_as_it_was() -> None:
    bars = [
        Bar(label="on these cases", value=0.4286, low=0.4286, high=0.4286),
        Bar(label="in situations like these", value=0.55, low=0.24, high=0.85),
        Bar(label="place #1", value=1.0),
        Bar(label="place #2", value=0.0, low=0.0, high=0.46),
        Bar(label="place #3", value=None),
    ]
    assert shares_svg(bars, "how often zig fails in simple") == GOLDEN.read_text(encoding="utf-8").strip()


def test_only_nothing_reads_as_nothing() -> None:
    bar = Bar(label="rare", value=0.003, low=0.0008, high=0.0091)
    assert ">0.3% (0.08–0.9%)<" in shares_svg([bar], "t")
    assert ">0%<" not in shares_svg([Bar(label="rare", value=0.00001)], "t").partition("rare")[2]


def test_a_chart_is_well_formed_whatever_it_is_called() -> None:
    drawn = shares_svg([Bar(label=HOSTILE, value=0.5)] * 20, HOSTILE)
    root = ElementTree.fromstring(drawn)
    texts = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "and 8 more" in texts
    assert {part.tag.partition("}")[2] for part in root.iter()} == {"svg", "title", "line", "circle", "text"}
    assert "<script" not in drawn
