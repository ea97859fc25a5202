"""Step 2: the agent in the narrow places, and whose fault it was."""

from tightrope.exploration.escapes import Survival
from tightrope.safety.compare import CaseDifference, SafetyComparison, compare_safety, correlation
from tightrope.safety.deciding import decide_gate
from tightrope.safety.failing.bisecting import Bisection, bisect_checkpoints
from tightrope.safety.failing.groups import FailureGroup, group_failures, groups_by_agent
from tightrope.safety.failing.shares import GroupShare, shares_of_groups
from tightrope.safety.failing.shrinking import shrink
from tightrope.safety.judging.case_results import BoundaryResult, CaseResult
from tightrope.safety.judging.claims import SuiteSurvival
from tightrope.safety.judging.findings import SafetyFinding, SafetyFindingKind
from tightrope.safety.judging.frequencies import avoidable_fail_frequency, rate_without_doomed
from tightrope.safety.judging.gate_decision import GateDecision
from tightrope.safety.judging.judge import judge_case, judge_episode, judge_suite
from tightrope.safety.judging.results import SafetyResult
from tightrope.safety.judging.survival import find_survival
from tightrope.safety.run import run_suite, suite_rollouts
from tightrope.safety.suites.around_boundaries import action_coverage_suite, interval_suite, simple_suite
from tightrope.safety.suites.controls import Guidance, compare_guidance, uniform_suite
from tightrope.safety.suites.files import load_suite, save_suite
from tightrope.safety.suites.kept import kept_suite
from tightrope.safety.suites.random_cases import random_suite
from tightrope.safety.suites.shorthand import SuiteKind, SuiteRequest, make_suite, parse_spec, possible_actions
from tightrope.safety.suites.suite import TestCase, TestSuite

__all__ = [
    "Bisection",
    "BoundaryResult",
    "CaseDifference",
    "CaseResult",
    "FailureGroup",
    "GateDecision",
    "GroupShare",
    "Guidance",
    "SafetyComparison",
    "SafetyFinding",
    "SafetyFindingKind",
    "SafetyResult",
    "SuiteKind",
    "SuiteRequest",
    "SuiteSurvival",
    "Survival",
    "TestCase",
    "TestSuite",
    "action_coverage_suite",
    "avoidable_fail_frequency",
    "bisect_checkpoints",
    "compare_guidance",
    "compare_safety",
    "correlation",
    "decide_gate",
    "find_survival",
    "group_failures",
    "groups_by_agent",
    "interval_suite",
    "judge_case",
    "judge_episode",
    "judge_suite",
    "kept_suite",
    "load_suite",
    "make_suite",
    "parse_spec",
    "possible_actions",
    "random_suite",
    "rate_without_doomed",
    "run_suite",
    "save_suite",
    "shares_of_groups",
    "shrink",
    "simple_suite",
    "suite_rollouts",
    "uniform_suite",
]
