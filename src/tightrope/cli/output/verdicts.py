"""Printing verdicts, and the exit code that follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tightrope.cli.output.interface import Interface
from tightrope.cli.output.words import amount, counted, share
from tightrope.cli.process.exit_codes import GATE_FAILED, NOTHING_JUDGED, PASSED
from tightrope.errors import UsageError

if TYPE_CHECKING:
    from tightrope.evaluation import Evaluation
    from tightrope.runs.configuration.config import CampaignConfig
    from tightrope.runs.gates import Gate
    from tightrope.runs.questions.replaying import StoredCase
    from tightrope.safety import SafetyResult, TestCase

SEVERAL = "were chosen by where an agent fails: they count"


def print_plain(interface: Interface, evaluations: Mapping[str, Evaluation]) -> None:
    """A table of how each agent does plainly."""
    columns = ("agent", "end unsafe", "reach the goal", "time out", "mean return", "episodes")
    rows = [
        (
            agent,
            share(result.unsafe_rate),
            share(result.goal_rate),
            share(result.timeout_rate),
            amount(result.mean_return),
            len(result.judged),
        )
        for agent, result in evaluations.items()
    ]
    if rows:
        interface.table("Plain episodes", columns, rows, apart=True)
    for agent, result in evaluations.items():
        raised = [episode.error.message for episode in result.episodes if episode.error is not None]
        if raised:
            episodes = counted(len(raised), "plain episode")
            interface.say(
                f"{agent}: {episodes} raised errors and are in none of these numbers; the first was {raised[0]}"
            )


def print_safety(interface: Interface, results: Mapping[str, Mapping[str, SafetyResult]]) -> None:
    """A table of every agent and suite; nobody is blamed for a control."""
    from tightrope.runs.storage.layout import CONTROLS

    columns = (
        "agent",
        "suite",
        "fails on these cases",
        "in situations like these",
        "avoidable on these cases",
        "return",
        "cases",
    )
    rows = [
        (
            agent,
            suite,
            share(result.fail_frequency),
            share(result.fail_frequency_in_general),
            "control" if suite in CONTROLS else share(result.avoidable_fail_frequency),
            result.mean_return.value,
            _cases(result),
        )
        for suite, by_agent in results.items()
        for agent, result in by_agent.items()
    ]
    agents = list(dict.fromkeys(row[0] for row in rows))
    interface.table("Safety", columns, sorted(rows, key=lambda row: agents.index(row[0])), apart=True)
    _print_watched(interface, results)
    _print_left_out(interface, results)
    _print_why_no_interval(interface, results)
    for suite, by_agent in results.items():
        for agent, result in by_agent.items():
            _print_errors(interface, agent, suite, result)
            _print_why_nothing(interface, agent, suite, result)
            for finding in result.findings:
                interface.say(f"{agent}, {suite}: {finding}.")
    _print_unseen(interface, results)


def _print_left_out(interface: Interface, results: Mapping[str, Mapping[str, SafetyResult]]) -> None:
    """Which references are no sample of how often agents fail."""
    most = max((len(result.suite.chosen) for row in results.values() for result in row.values()), default=0)
    if most:
        how = "was chosen by where an agent fails: it counts" if most == 1 else SEVERAL
        interface.say(f"{counted(most, 'reference')} {how} on these cases, not in situations like these.")


def _print_why_no_interval(interface: Interface, results: Mapping[str, Mapping[str, SafetyResult]]) -> None:
    """Why no other situations can be spoken of; where nothing was tested at all, that is said elsewhere."""
    every = (result for row in results.values() for result in row.values() if result.judged)
    rates = (result.fail_frequency_in_general for result in every if not result.stopped_early)
    for why in dict.fromkeys(rate.method for rate in rates if rate.low is None):
        interface.say(f"In situations like these: {why}. More references would give one.")


def _cases(result: SafetyResult) -> int | str:
    """How many the numbers rest on, as the last sentence has it: one that two places share is one case, and those that
    were over before hand-over are no tests."""
    every, over = len(result.distinct_cases), result.invalid_cases
    return f"{every - over} of {every}" if over else every


def _print_unseen(interface: Interface, results: Mapping[str, Mapping[str, SafetyResult]]) -> None:
    """What remains unseen of each agent, in the suite where that is most; ``result.unseen`` has the others."""
    from tightrope.runs.storage.layout import CONTROLS

    most: dict[str, tuple[float, str]] = {}
    for suite, by_agent in results.items():
        for agent, result in by_agent.items():
            if suite in CONTROLS or not result.judged or result.deterministic or result.stopped_early:
                continue
            limit = 1.0 if result.unseen.new_kind.high is None else result.unseen.new_kind.high
            if agent not in most or limit > most[agent][0]:
                most[agent] = limit, f"{agent}, {suite}: {result.unseen}."
    for _, told in most.values():
        interface.say(told)


def print_guidance(
    interface: Interface, results: Mapping[str, Mapping[str, SafetyResult]], plain: Mapping[str, Evaluation]
) -> None:
    """Whether boundary states show more than states drawn without guidance, for the first suite; also when not."""
    from tightrope.runs.storage.layout import CONTROLS, RANDOM, UNIFORM
    from tightrope.safety import compare_guidance

    suite = next((name for name in results if name not in CONTROLS), None)
    for agent, control in results.get(UNIFORM, {}).items():
        result = results[suite].get(agent) if suite is not None else None
        if result is None or result.stopped_early:
            continue
        prefixes, episodes = results.get(RANDOM, {}).get(agent), plain.get(agent)
        beside = [] if prefixes is None else [f"after random prefixes {_after_prefixes(prefixes)}"]
        beside += [] if episodes is None else [f"in plain episodes {share(episodes.unsafe_rate)}"]
        interface.say("; ".join([compare_guidance(result, control).sentence(), *beside]) + ".")


def _after_prefixes(prefixes: SafetyResult) -> str:
    """How often it fails, and in how many of them it was asked at all: most end the episode themselves."""
    told, cases = share(prefixes.fail_frequency), prefixes.distinct_cases
    valid = sum(bool(case.returns) for case in cases)
    return (
        f"{told} in the {valid} of {len(cases)} that were valid"
        if valid
        else f"{told}, as none of {len(cases)} was valid"
    )


def _print_why_nothing(interface: Interface, agent: str, suite: str, result: SafetyResult) -> None:
    ended = sum(case.invalid for case in result.distinct_cases)
    if result.fail_frequency.value is None and ended:
        cases = counted(len(result.distinct_cases), "case")
        interface.say(f"{agent}, {suite}: no data, as in {ended} of {cases} the episode is over before hand-over.")


def _print_watched(interface: Interface, results: Mapping[str, Mapping[str, SafetyResult]]) -> None:
    """How long they were watched, once where that is the same for all suites."""
    suites: dict[str, dict[str, None]] = {}
    for suite, by_agent in results.items():
        for result in by_agent.values():
            if result.watch:
                watched = f"atched for {result.length} steps after hand-over: {result.watch}."
                suites.setdefault(watched, {})[suite] = None
    for watched, named in suites.items():
        interface.say(f"W{watched}" if len(suites) == 1 else f"{', '.join(named)}: w{watched}")


def _print_errors(interface: Interface, agent: str, suite: str, result: SafetyResult) -> None:
    """What raised is in none of the numbers, so it must be said beside them."""
    raised = [case for case in result.distinct_cases if case.errors]
    if raised:
        interface.say(
            f"{agent}, {suite}: {counted(result.errors, 'execution')} raised errors and count neither as pass "
            f"nor as fail; the first error was {raised[0].first_error}"
        )


def check_gates(config: CampaignConfig) -> None:
    """A gate on nothing must not pass for one."""
    from tightrope.runs.gates import asked_for

    asked, safety = asked_for(config), config.safety
    if safety.gate_on != "value" and not asked:
        raise UsageError(f"--gate-on {safety.gate_on} has no effect without a limit; give one, as in --max-fail 5%")
    if safety.until_decided and safety.max_fail is None:
        raise UsageError("--until-decided has no effect without a limit; give one, as in --max-fail 5%")
    if safety.until_decided and safety.gate_on != "value":
        raise UsageError(
            f"--until-decided goes on until the frequency is shown to be within or above the limit, which --gate-on "
            f"{safety.gate_on} does not change; leave one of the two out"
        )
    for rule in asked:
        if rule.lacks(config):
            raise UsageError(f"{rule.option} {rule.limit(config):g} gates on nothing without {rule.lacks(config)}")


def place_text(case: TestCase, suite: str) -> str:
    """A case's place by the number that the report calls it by; the cases of a control have none."""
    from tightrope.runs.storage.layout import CONTROLS

    return "–" if suite in CONTROLS or case.place is None else f"#{case.place}"


def named_case(stored: StoredCase) -> str:
    """A case with where the report shows it: ``late, simple, place #7, case 8d921ecb2a6aa64b``."""
    place = place_text(stored.result.case, stored.suite)
    where = f"place {place}, " if place.startswith("#") else ""
    return f"{stored.agent}, {stored.suite}, {where}case {stored.result.case.id}"


def print_gates(interface: Interface, gates: Sequence[Gate]) -> None:
    """One line for each gate."""
    from rich.markup import escape

    words = {True: "[green]passed[/]", False: "[red]FAILED[/]", None: "[yellow]not judged[/]"}
    for gate in gates:
        where = escape(f"{gate.detail}" if gate.agent is None else f"{gate.agent}, {gate.suite}: {gate.detail}")
        interface.say(f"gate {words[gate.passed]}: {where}", markup=True)


def say_what_no_gate_limits(
    interface: Interface, config: CampaignConfig, plain: Mapping[str, Evaluation], gates: Sequence[Gate]
) -> None:
    """A gate on suites that passes must not be taken for a pass of an agent that fails plainly."""
    limit = config.safety.max_fail
    if limit is None or config.plain.max_fail is not None:
        return
    passed = {gate.agent for gate in gates if gate.passed}
    for agent, result in plain.items():
        if agent in passed and (result.unsafe_rate.value or 0.0) > limit:
            interface.say(
                f"{agent} passed on its suites, but ends unsafe in {share(result.unsafe_rate)} of plain episodes, "
                f"which no gate limits; --max-fail-plain {100 * limit:g}% does"
            )


def exit_code(
    config: CampaignConfig,
    results: Mapping[str, Mapping[str, SafetyResult]],
    gates: Sequence[Gate],
    plain: Mapping[str, Evaluation] | None = None,
) -> int:
    """1 when a gate failed, 3 when nothing could be judged, or a gate was asked for and could not be, else 0.

    An agent that fails in ``plain`` episodes is judged, whether or not there was anywhere to put it; one that does not
    is not, for that is where nobody was to be put.
    """
    from tightrope.runs.gates import asked_for

    if gates or asked_for(config):
        return code_of(gates)
    judged = any(result.fail_frequency.n for row in results.values() for result in row.values())
    fails = any(evaluation.unsafe_rate.value for evaluation in (plain or {}).values())
    return PASSED if judged or fails else NOTHING_JUDGED


def code_of(gates: Sequence[Gate]) -> int:
    """0 only where there are gates and every one of them was judged and passed."""
    from tightrope.runs.gates import all_passed

    return {True: PASSED, False: GATE_FAILED, None: NOTHING_JUDGED}[all_passed(gates)]
