"""Settings: each is written once, with its default, its range and one sentence.

The settings of a step are a `Section`, a frozen dataclass in a file of its own. Campaign files and their errors, the
command line, ``tightrope init``, the page of all settings, the defaults of functions and what a stored result is
compared with all follow from it. They are here and not beside the steps because whoever only asks for ``--help`` must
not wait until a step is imported.
"""

from tightrope.settings.agents import AgentConfig, BehaviourName
from tightrope.settings.checkpoints import BisectConfig, KeepConfig
from tightrope.settings.execution import LIBRARY_BACKEND, BackendName, ExecutionConfig
from tightrope.settings.failures import FailureMethod, FailuresConfig, FailureWay
from tightrope.settings.fuzzing import BREEDING_STEPS, BREEDING_STEPS_BY_REPLAY, FuzzingConfig
from tightrope.settings.performance import PerformanceConfig
from tightrope.settings.plain import PlainConfig
from tightrope.settings.ranges import (
    Count,
    Fraction,
    Natural,
    Range,
    Share,
    Weight,
    broken_rule,
    parse_share,
    require,
    shown,
)
from tightrope.settings.report import ReportConfig
from tightrope.settings.risk import RiskConfig
from tightrope.settings.safety import EXPLAINING_STEPS, LONGEST_WATCH, STATES_OF_SEVERAL, SURVIVAL_STEPS, SafetyConfig
from tightrope.settings.search import (
    FINDING_STEPS,
    PROBING_SECONDS,
    PROBING_STEPS,
    SEARCH_STEPS,
    SEARCH_STEPS_BY_REPLAY,
    SearchConfig,
)
from tightrope.settings.section import Section, Setting, setting

__all__ = [
    "BREEDING_STEPS",
    "BREEDING_STEPS_BY_REPLAY",
    "EXPLAINING_STEPS",
    "FINDING_STEPS",
    "LIBRARY_BACKEND",
    "LONGEST_WATCH",
    "PROBING_SECONDS",
    "PROBING_STEPS",
    "SEARCH_STEPS",
    "SEARCH_STEPS_BY_REPLAY",
    "STATES_OF_SEVERAL",
    "SURVIVAL_STEPS",
    "AgentConfig",
    "BackendName",
    "BehaviourName",
    "BisectConfig",
    "Count",
    "ExecutionConfig",
    "FailureMethod",
    "FailureWay",
    "FailuresConfig",
    "Fraction",
    "FuzzingConfig",
    "KeepConfig",
    "Natural",
    "PerformanceConfig",
    "PlainConfig",
    "Range",
    "ReportConfig",
    "RiskConfig",
    "SafetyConfig",
    "SearchConfig",
    "Section",
    "Setting",
    "Share",
    "Weight",
    "broken_rule",
    "parse_share",
    "require",
    "setting",
    "shown",
]
