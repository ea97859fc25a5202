"""What packages that extend tightrope may import beside the public names: for verbs, loaders and worlds of their own.

Each name is imported when it is first used, so that a world does not wait for the command line.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tightrope.agents.networks.onnx import OnnxFile as OnnxFile
    from tightrope.cli.given import Given as Given
    from tightrope.cli.given import own as own
    from tightrope.cli.given import takes as takes
    from tightrope.cli.interface import current_interface as current_interface
    from tightrope.cli.interface import verb as verb
    from tightrope.cli.options import SeedOption as SeedOption
    from tightrope.cli.supervision import NOTHING_JUDGED as NOTHING_JUDGED
    from tightrope.cli.supervision import PASSED as PASSED
    from tightrope.progress import ProgressCallback as ProgressCallback
    from tightrope.runs.configuration.configfile import load_settings as load_settings
    from tightrope.seeding import derive_seed as derive_seed
    from tightrope.simulation import play as play
    from tightrope.trace import Action as Action
    from tightrope.training.choice import StartChoice as StartChoice

_HOME = {
    "Action": "tightrope.trace",
    "Given": "tightrope.cli.given",
    "NOTHING_JUDGED": "tightrope.cli.supervision",
    "OnnxFile": "tightrope.agents.networks.onnx",
    "PASSED": "tightrope.cli.supervision",
    "ProgressCallback": "tightrope.progress",
    "SeedOption": "tightrope.cli.options",
    "StartChoice": "tightrope.training.choice",
    "current_interface": "tightrope.cli.interface",
    "derive_seed": "tightrope.seeding",
    "load_settings": "tightrope.runs.configuration.configfile",
    "own": "tightrope.cli.given",
    "play": "tightrope.simulation",
    "takes": "tightrope.cli.given",
    "verb": "tightrope.cli.interface",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    return getattr(importlib.import_module(_HOME[name]), name)
