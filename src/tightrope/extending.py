"""What packages that extend tightrope may import beside the public names: for verbs, loaders and worlds of their own.

Each name is imported when it is first used, so that a world does not wait for the command line.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tightrope.agents.formats.onnx import OnnxFile as OnnxFile
    from tightrope.cli.arguments.given import Given as Given
    from tightrope.cli.arguments.given import own as own
    from tightrope.cli.arguments.given import takes as takes
    from tightrope.cli.arguments.options import SeedOption as SeedOption
    from tightrope.cli.output.interface import current_interface as current_interface
    from tightrope.cli.process.command import verb as verb
    from tightrope.cli.process.exit_codes import NOTHING_JUDGED as NOTHING_JUDGED
    from tightrope.cli.process.exit_codes import PASSED as PASSED
    from tightrope.progress import ProgressCallback as ProgressCallback
    from tightrope.runs.configuration.configfile import load_settings as load_settings
    from tightrope.seeding import derive_seed as derive_seed
    from tightrope.simulation import play as play
    from tightrope.trace import Action as Action
    from tightrope.training.choice import StartChoice as StartChoice

_HOME = {
    "Action": "tightrope.trace",
    "Given": "tightrope.cli.arguments.given",
    "NOTHING_JUDGED": "tightrope.cli.process.exit_codes",
    "OnnxFile": "tightrope.agents.formats.onnx",
    "PASSED": "tightrope.cli.process.exit_codes",
    "ProgressCallback": "tightrope.progress",
    "SeedOption": "tightrope.cli.arguments.options",
    "StartChoice": "tightrope.training.choice",
    "current_interface": "tightrope.cli.output.interface",
    "derive_seed": "tightrope.seeding",
    "load_settings": "tightrope.runs.configuration.configfile",
    "own": "tightrope.cli.arguments.given",
    "play": "tightrope.simulation",
    "takes": "tightrope.cli.arguments.given",
    "verb": "tightrope.cli.process.command",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    return getattr(importlib.import_module(_HOME[name]), name)
