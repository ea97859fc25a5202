"""Agents of RLlib: the checkpoint folder of an algorithm, or of an RLModule alone.

A checkpoint is a tree of folders with pickles in them, so it needs trust. Of an algorithm's, the module and both of its
connector pipelines are used, as RLlib itself uses them; Ray is not started.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym

from tightrope.agents.agent import Agent
from tightrope.agents.behaviour import Behaviour
from tightrope.agents.formats.torch_network import quiet_torch, torch_library
from tightrope.agents.objects.callables import BatchAgent
from tightrope.agents.objects.fingerprints import DIGITS, file_fingerprint
from tightrope.agents.sources.loaders import AgentLoader, AgentRequest
from tightrope.agents.spaces import TaskSpaces
from tightrope.errors import AgentError, FormatError, MissingExtra, TrustRequired
from tightrope.files import parse_json, read_content

ALGORITHM, METADATA = "rllib_checkpoint.json", "metadata.json"
MODULES = Path("learner_group", "learner", "rl_module")
TO_MODULE = Path("env_runner", "env_to_module_connector")
TO_ENVIRONMENT = Path("env_runner", "module_to_env_connector")
LARGEST_METADATA = 2**20
LOOK_BACK = ("FrameStacking", "PrevActionsPrevRewards")
"""Connectors that look at earlier steps, by the beginning of their names."""


class RllibPolicy:
    """A batch of observations in, actions out, by way of the connectors where there are any."""

    def __init__(self, folder: Path) -> None:
        module, to_module, to_environment = _paths(folder)
        library = _library()
        self.module = library.RLModule.from_checkpoint(str(module))
        self.connectors: tuple[Any, Any] | None = None
        if to_module is not None and to_environment is not None:
            self.connectors = (
                library.EnvToModulePipeline.from_checkpoint(str(to_module)),
                library.ModuleToEnvPipeline.from_checkpoint(str(to_environment)),
            )
        self._episode = library.SingleAgentEpisode
        self._freeze()

    def check(self, spaces: TaskSpaces, folder: Path) -> None:
        """Refuse what cannot be asked one observation at a time, and a module for other actions."""
        if self.module.is_stateful():
            raise AgentError(
                f"{folder}: {type(self.module).__name__} keeps a state between steps, which tightrope does not hand "
                f"over to RLlib; give a function f(observation, memory) that does: package.module:factory"
            )
        backward = [name for name in self._names() if name.startswith(LOOK_BACK)]
        if backward:
            raise AgentError(
                f"{folder}: its connectors {', '.join(backward)} look at earlier steps; stack frames in make_env as in "
                f"training, or give a function f(observation, memory) that asks the module: package.module:factory"
            )
        if self.connectors is None and isinstance(spaces.action, gym.spaces.Box):
            raise AgentError(
                f"{folder} is a module without connectors, and does not tell how its actions were scaled to "
                f"{spaces.action}; give the folder of the whole algorithm (algorithm.save_to_path)"
            )
        own = self.module.action_space
        if own is not None and own != spaces.action:
            raise AgentError(f"{folder} was trained with the actions {own}, and task {spaces.task} has {spaces.action}")

    def __call__(self, observations: Any) -> Sequence[Any]:
        """The best action for each row."""
        torch = torch_library()
        with quiet_torch(torch):
            if self.connectors is None:
                return self._asked_plainly(torch, observations)
            return self._asked_through_connectors([*_rows(observations)])

    def _asked_plainly(self, torch: Any, observations: Any) -> Sequence[Any]:
        said = self.module.forward_inference({"obs": torch.as_tensor(observations)})
        if "actions" in said:
            return said["actions"].cpu().numpy()  # type: ignore[no-any-return]
        kind = self.module.get_inference_action_dist_cls()
        chosen = kind.from_logits(said["action_dist_inputs"]).to_deterministic().sample()
        return chosen.cpu().numpy()  # type: ignore[no-any-return]

    def _asked_through_connectors(self, observations: Sequence[Any]) -> Sequence[Any]:
        assert self.connectors is not None
        spaces = {"observation_space": self.module.observation_space, "action_space": self.module.action_space}
        episodes = [self._episode(observations=[observation], **spaces) for observation in observations]
        given: dict[str, Any] = {"episodes": episodes, "rl_module": self.module, "explore": False, "shared_data": {}}
        batch = self.connectors[0](batch={}, **given)
        chosen = self.connectors[1](batch=self.module.forward_inference(batch), **given)
        answer: Sequence[Any] = chosen["actions_for_env"] if "actions_for_env" in chosen else chosen["actions"]
        return answer

    def _names(self) -> list[str]:
        pipelines = self.connectors or ()
        return [type(connector).__name__ for pipeline in pipelines for connector in pipeline.connectors]

    def _freeze(self) -> None:
        """Running statistics stay as they were saved: an agent under test does not learn."""
        for pipeline in self.connectors or ():
            for connector in pipeline.connectors:
                if hasattr(connector, "_update_stats"):
                    connector._update_stats = False


class RllibAgent(BatchAgent):
    """A policy of RLlib; made again from its folder in a worker process."""

    def __init__(self, folder: str, spaces: TaskSpaces, behaviour: Behaviour, *, name: str, fingerprint: str) -> None:
        if folder_fingerprint(Path(folder), behaviour) != fingerprint:
            raise AgentError(f"{folder} has changed since agent {name!r} was loaded; load it again")
        policy = RllibPolicy(Path(folder))
        policy.check(spaces, Path(folder))
        self.folder = folder
        super().__init__(policy, spaces, behaviour, name=name, fingerprint=fingerprint)

    def __reduce__(self) -> Any:
        return _again, (self.folder, self._spaces, self.behaviour, self.name, self.fingerprint)


def _again(folder: str, spaces: TaskSpaces, behaviour: Behaviour, name: str, fingerprint: str) -> RllibAgent:
    return RllibAgent(folder, spaces, behaviour, name=name, fingerprint=fingerprint)


def folder_fingerprint(folder: Path, behaviour: Behaviour) -> str:
    """Hash of every file that the agent is made of."""
    digest = hashlib.sha256(repr(behaviour).encode())
    for root in _paths(folder):
        for path in sorted(root.rglob("*")) if root is not None else ():
            if path.is_file():
                digest.update(f"{path.relative_to(folder)} {file_fingerprint(path)}\n".encode())
    return digest.hexdigest()[:DIGITS]


def is_checkpoint(folder: Path) -> bool:
    """Whether a folder is one of RLlib's, told by the names of its files."""
    return (folder / ALGORITHM).is_file() or (
        (folder / METADATA).is_file()
        and any(folder.glob("module_state.*"))
        and any(folder.glob("class_and_ctor_args*"))
    )


def _paths(folder: Path) -> tuple[Path, Path | None, Path | None]:
    """The folders of the module and of its two pipelines, which a module alone has not."""
    if not (folder / ALGORITHM).is_file():
        return folder, None, None
    modules = sorted(path.parent for path in (folder / MODULES).glob(f"*/{METADATA}"))
    if len(modules) != 1:
        names = ", ".join(path.name for path in modules) or "none"
        raise AgentError(
            f"{folder} does not hold exactly one module ({names}); give the folder of the one to be tested, "
            f"{folder / MODULES}/NAME"
        )
    missing = [str(path) for path in (TO_MODULE, TO_ENVIRONMENT) if not (folder / path).is_dir()]
    if missing:
        raise AgentError(
            f"{folder} lacks {', '.join(missing)}; save it with algorithm.save_to_path, on the new API stack"
        )
    return modules[0], folder / TO_MODULE, folder / TO_ENVIRONMENT


def _library() -> Any:
    from types import SimpleNamespace

    try:
        from ray.rllib.connectors.env_to_module import EnvToModulePipeline
        from ray.rllib.connectors.module_to_env import ModuleToEnvPipeline
        from ray.rllib.core.rl_module.rl_module import RLModule
        from ray.rllib.env.single_agent_episode import SingleAgentEpisode
    except ImportError as error:
        raise MissingExtra("ray.rllib", "rllib", "An agent of RLlib", error) from error
    return SimpleNamespace(
        EnvToModulePipeline=EnvToModulePipeline,
        ModuleToEnvPipeline=ModuleToEnvPipeline,
        RLModule=RLModule,
        SingleAgentEpisode=SingleAgentEpisode,
    )


def _rows(observations: Any) -> Iterator[Any]:
    if isinstance(observations, dict):
        number = len(next(iter(observations.values())))
        return ({name: part[row] for name, part in observations.items()} for row in range(number))
    return iter(zip(*observations, strict=True) if isinstance(observations, tuple) else observations)


def _accepts(source: Any) -> bool:
    return isinstance(source, str) and is_checkpoint(Path(source).expanduser())


def _load(request: AgentRequest) -> Agent:
    folder = Path(request.source).expanduser().absolute()
    require_format(folder)
    _require_whole(folder)
    if not request.trust:
        raise TrustRequired(
            f"{folder} is a checkpoint of RLlib, which is made of pickles, and unpickling would run code from it. "
            f"Load it with trust=True (--trust) if you know where it comes from"
        )
    name = request.name or folder.name
    fingerprint = folder_fingerprint(folder, request.behaviour)
    return RllibAgent(str(folder), request.spaces, request.behaviour, name=name, fingerprint=fingerprint)


def require_format(folder: Path) -> None:
    """Raise FormatError unless the folder says that RLlib wrote it."""
    path = folder / (ALGORITHM if (folder / ALGORITHM).is_file() else METADATA)
    told = parse_json(read_content(path, LARGEST_METADATA), str(path))
    if not isinstance(told, dict) or not ("checkpoint_version" in told or "ray_version" in told):
        raise FormatError(f"{path} does not say which version of RLlib wrote it")


def _require_whole(folder: Path) -> None:
    """A module inside an algorithm's folder has connectors: not using them is not assumed."""
    outer = folder.parents[3] if len(folder.parents) > 3 else folder
    if (outer / ALGORITHM).is_file() and (outer / TO_MODULE).is_dir() and folder.parent == outer / MODULES:
        others = [path for path in folder.parent.iterdir() if path.is_dir() and path != folder]
        if not others:
            raise AgentError(
                f"{folder} is the module of {outer}, whose connectors lie beside it and may scale what it sees and "
                f"answers. Give the whole: --agent {outer} --trust; or copy the module's folder to use it alone"
            )


FOLDERS = AgentLoader(accepts=_accepts, load=_load, endings=("an RLlib checkpoint folder",))
