# What extensions may import beside the public names; `extending.py` reads this list when it is imported.

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
