"""Agents from ``.onnx`` files. The only file that imports onnxruntime.

A file may say more about itself in its metadata: ``actions`` (the name of the action set it was trained with) or
``action_names`` (its actions, comma-separated, in order of its outputs), ``action_head``: ``squashed`` or ``scaled``
for continuous actions given in [-1, 1], ``observation_n``: how many values a Discrete observation had in training (in a
Dict or Tuple, the part's name in place of ``observation``), and ``arithmetic``: in which numbers it reckons, where they
are not those of its training.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tightrope.agents.action_names import declared_actions, own_spaces, translation
from tightrope.agents.formats.onnx_files import external_files
from tightrope.agents.networks.action_heads import ActionHead, ContinuousHead, Head, head_for
from tightrope.agents.networks.batch_invariance import ALL_SIZES, Arrays
from tightrope.agents.networks.network_agent import NetworkParts
from tightrope.agents.observations import ObservationStacker, Part
from tightrope.agents.preferences import Meaning
from tightrope.agents.sources.files import AgentFile, FileReader, Reading, file_loader
from tightrope.agents.spaces import TaskSpaces
from tightrope.errors import AgentError, FormatError, require_extra
from tightrope.files import read_content
from tightrope.files.limits import AGENT_FILE, NETWORK_MEMORY

MEANINGS = {
    "q": Meaning.VALUES,
    "logits": Meaning.PROBABILITIES,
    "dqn": Meaning.VALUES,
    "ppo": Meaning.PROBABILITIES,
    "a2c": Meaning.PROBABILITIES,
}
"""Words by which a file says what its scores are."""
DTYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
    "tensor(int8)": np.int8,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}


class OnnxFile:
    """An opened file: what its metadata say, and the network once the task's spaces are known.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._session = _open(path)
        self.metadata: Mapping[str, str] = dict(self._session.get_modelmeta().custom_metadata_map)

    def answer(self, inputs: Mapping[str, NDArray[Any]]) -> Arrays:
        """What the network itself says to inputs given by name: its outputs, in their order."""
        return tuple(self._session.run(None, dict(inputs)))

    def parts(self, spaces: TaskSpaces) -> NetworkParts:
        """The network, fitted to the task's spaces."""
        observed = ObservationStacker(spaces.observation).parts
        inputs = _matched_inputs(self.path, self._session.get_inputs(), observed)
        for part in observed:
            _check_range(self.path, self.metadata, part)
        outputs = self._session.get_outputs()
        network = OnnxNetwork(self._session, inputs, [output.name for output in outputs], self.path)
        head = _head(spaces.action, outputs, self.metadata)
        fixed = _fixed_batch(self._session)
        return NetworkParts(
            network=network,
            head=head,
            sizes=fixed or ALL_SIZES,
            any_size=fixed is None,
            function=not _may_draw(self.path),
            arithmetic=self.metadata.get("arithmetic", ""),
        )


RANDOM_OPERATORS = (b"Random", b"Multinomial", b"Bernoulli", b"Dropout")
"""All of ONNX that draw, and `Dropout`, which does so in training mode."""


class OnnxInput(NamedTuple):
    """How one part of an observation is fed."""

    name: str
    dtype: Any
    shape: tuple[int, ...]
    one_hot: range | None
    """The values of a numbered observation, each of which has a place in the row."""

    def feed(self, part: NDArray[Any]) -> NDArray[Any]:
        """A stacked part in the form the network takes."""
        if self.one_hot is not None:
            rows: NDArray[Any] = np.eye(len(self.one_hot), dtype=self.dtype)[part - self.one_hot.start]
            return rows
        return np.ascontiguousarray(part.reshape(len(part), *self.shape), dtype=self.dtype)


class OnnxNetwork:
    """A session as a function of arrays, and the file it was opened from."""

    def __init__(self, session: Any, inputs: Sequence[OnnxInput], outputs: Sequence[str], path: Path) -> None:
        self._session, self.inputs, self._outputs, self.path = session, inputs, outputs, path

    def __call__(self, arrays: Arrays) -> Arrays:
        """Run the session on stacked observation parts."""
        return tuple(self._session.run(self._outputs, self.feeds(arrays)))

    def feeds(self, arrays: Arrays) -> dict[str, NDArray[Any]]:
        """Stacked observation parts by the names of the file's inputs."""
        return {part.name: part.feed(rows) for part, rows in zip(self.inputs, arrays, strict=True)}


def _may_draw(path: Path) -> bool:
    """Whether the graph may hold an operator that draws at random; their names stand in the file as they are."""
    content = read_content(path, AGENT_FILE)
    return any(operator in content for operator in RANDOM_OPERATORS)


def _open(path: Path) -> Any:
    runtime = require_extra("onnxruntime", "onnx", "An agent from an .onnx file")
    options = runtime.SessionOptions()
    # One thread: workers share the cores, and the order of additions must not depend on how many there are.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # What goes wrong is raised; said a second time, by the library itself, it is noise.
    options.log_severity_level = 4
    if _limit_memory(runtime):
        options.add_session_config_entry("session.use_env_allocators", "1")
    # From bytes, weights in other files would be looked for in the working folder, and not beside the model.
    model = str(path) if external_files(path) else read_content(path, AGENT_FILE)
    try:
        return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except OSError:
        raise
    except Exception as error:
        raise FormatError(f"{path} is not an .onnx file that ONNX Runtime can open: {error}") from error


@cache
def _limit_memory(runtime: Any) -> bool:
    """Bound what all networks of this process may take together; a network of 150 bytes can ask for any size.

    False where the process has given the runtime an allocator of its own, which then stays in charge.
    """
    place = runtime.OrtMemoryInfo("Cpu", runtime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, runtime.OrtMemType.DEFAULT)
    try:
        runtime.create_and_register_allocator(place, runtime.OrtArenaCfg({"max_mem": NETWORK_MEMORY}))
    except Exception:
        return False
    return True


def _matched_inputs(path: Path, inputs: Sequence[Any], parts: Sequence[Part]) -> list[OnnxInput]:
    if len(inputs) != len(parts):
        raise AgentError(
            f"{path} takes {len(inputs)} inputs ({', '.join(one.name for one in inputs)}), and the task's observations "
            f"have {len(parts)} parts ({', '.join(part.name for part in parts)})"
        )
    if len(parts) == 1:
        return [_matched(path, inputs[0], parts[0])]
    by_name = {one.name: one for one in inputs}
    missing = [part.name for part in parts if part.name not in by_name]
    if missing:
        raise AgentError(f"{path} has no input named {missing}; its inputs are {sorted(by_name)}")
    return [_matched(path, by_name[part.name], part) for part in parts]


def _matched(path: Path, given: Any, part: Part) -> OnnxInput:
    if given.type not in DTYPES:
        raise AgentError(f"input {given.name!r} of {path} is of type {given.type}; supported are {sorted(DTYPES)}")
    dtype, wanted = DTYPES[given.type], tuple(given.shape[1:])
    if _fits(wanted, part.shape):
        return OnnxInput(given.name, dtype, part.shape, None)
    if part.shape == () and _fits(wanted, (1,)):
        return OnnxInput(given.name, dtype, (1,), None)
    if isinstance(part.space, gym.spaces.Discrete) and _fits(wanted, (int(part.space.n),)):
        first = int(part.space.start)
        return OnnxInput(given.name, dtype, wanted, range(first, first + int(part.space.n)))
    raise AgentError(
        f"{path} was made for observations of shape {wanted}, and the task's have shape {part.shape} ({part.name}); "
        f"wrap the environment as in training, or export the network for these observations"
    )


def _fits(wanted: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
    return len(wanted) == len(shape) and all(
        not isinstance(size, int) or size == have for size, have in zip(wanted, shape, strict=True)
    )


def _check_range(path: Path, metadata: Mapping[str, str], part: Part) -> None:
    """An integer input has a shape that fits every Discrete space; only the metadata can tell another one."""
    stated = metadata.get(f"{part.name}_n")
    if stated is not None and isinstance(part.space, gym.spaces.Discrete) and stated != str(part.space.n):
        raise AgentError(
            f"{path} was trained on observations of {stated} values ({part.name}_n in its metadata), and the task's "
            f"have {part.space.n}; make the task as in training, or train the agent on this one"
        )


def _fixed_batch(session: Any) -> Sequence[int] | None:
    sizes = {one.shape[0] for one in session.get_inputs() if one.shape and isinstance(one.shape[0], int)}
    return sorted(sizes) or None


def _head(space: gym.Space[Any], outputs: Sequence[Any], metadata: Mapping[str, str]) -> Head:
    if "int" in outputs[0].type:
        return ActionHead(space)
    if isinstance(space, gym.spaces.Box):
        form = metadata.get("action_head", "")
        return ContinuousHead(space, spread=len(outputs) > 1, squashed=form == "squashed", scaled=form == "scaled")
    return head_for(space, meaning=_meaning(outputs[0].name, metadata))


def _meaning(output: str, metadata: Mapping[str, str]) -> Meaning:
    """What the scores are, by the output's name or the algorithm the file was trained with; only for telling it."""
    told = re.split(r"[^a-z0-9]+", f"{output} {metadata.get('algorithm', '')}".lower())
    return next((meaning for word, meaning in MEANINGS.items() if word in told), Meaning.SCORES)


def _read(file: AgentFile, spaces: TaskSpaces) -> Reading:
    opened = OnnxFile(Path(file.path))
    names = declared_actions(opened.metadata, spaces)
    if translation(names, spaces) is not None:
        assert names is not None
        spaces = own_spaces(names, spaces)
    return Reading(opened.parts(spaces), spaces)


def _reads_also(file: AgentFile) -> list[Path]:
    return external_files(Path(file.path))


FILES = file_loader(endings=(".onnx",), reader=FileReader(read=_read, reads_also=_reads_also))
