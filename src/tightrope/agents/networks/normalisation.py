"""Observation statistics saved beside a Stable-Baselines3 model (VecNormalize), applied as in training.

``vecnormalize.pkl`` is a pickle and is opened only when trusted; `convert_normalisation` makes a ``vecnormalize.npz``
of it, which holds numbers only and needs no trust.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.agents.networks.batch_invariance import Arrays
from tightrope.agents.observations import ObservationStacker
from tightrope.agents.spaces import TaskSpaces
from tightrope.errors import AgentError, FormatError, TrustRequired
from tightrope.files import DAMAGE
from tightrope.files.arrays import read_arrays

FORMAT, VERSION = "tightrope/normalisation", 1
WHOLE = "observation"
"""The name of the statistics of an observation that is one array."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Normalisation:
    """Mean and variance of each part of an observation."""

    means: Mapping[str, NDArray[Any]]
    variances: Mapping[str, NDArray[Any]]
    clip: float = 10.0
    epsilon: float = 1e-8

    def apply(self, name: str, rows: NDArray[Any]) -> NDArray[Any]:
        """One stacked part, normalised; parts without statistics stay as they are."""
        if name not in self.means:
            return rows
        scaled = (rows - self.means[name]) / np.sqrt(self.variances[name] + self.epsilon)
        clipped: NDArray[Any] = np.clip(scaled, -self.clip, self.clip).astype(np.float32)
        return clipped

    def fitted(self, spaces: TaskSpaces) -> NormalisedParts:
        """These statistics for the observations of a task; raises where shapes differ."""
        parts = ObservationStacker(spaces.observation).parts
        known = {part.name: part.shape for part in parts}
        for name, mean in self.means.items():
            if known.get(name) != mean.shape:
                raise AgentError(
                    f"the normalisation statistics are for {name!r} of shape {mean.shape}, and the task's observations "
                    f"have {known}; they belong to another environment or wrapper"
                )
        return NormalisedParts(statistics=self, names=tuple(known))


@dataclass(frozen=True, kw_only=True, eq=False)
class NormalisedParts:
    """Normalises the stacked parts of observations."""

    statistics: Normalisation
    names: tuple[str, ...] = field(default=())

    def __call__(self, arrays: Arrays) -> Arrays:
        """All parts, each with its own statistics."""
        return tuple(self.statistics.apply(name, rows) for name, rows in zip(self.names, arrays, strict=True))


def normalisation_beside(model: Path) -> Path | None:
    """The statistics saved beside a model, under the names in use; one without pickle is preferred."""
    # The RL Zoo keeps them one folder down, beside the training arguments.
    zoo = (path.parent for path in sorted(model.parent.glob("*/args.yml")))
    folders = [model.parent, *zoo]
    stems = (f"{model.stem}_vecnormalize", f"vecnormalize_{model.stem}", "vecnormalize", "vec_normalize")
    for ending in (".npz", ".pkl"):
        for folder in folders:
            for stem in stems:
                if (folder / f"{stem}{ending}").is_file():
                    return folder / f"{stem}{ending}"
    return None


def named_statistics(given: str | PathLike[str], model: str) -> Path:
    """The file of statistics that was named for a model."""
    path = Path(given).expanduser()
    if not path.is_file():
        raise AgentError(f"there is no file {fspath(given)!r} of observation statistics for {model}")
    return path


def load_normalisation(path: Path, *, trust: bool) -> Normalisation:
    """Read statistics; a pickle only when trusted."""
    if path.suffix == ".npz":
        return _read_npz(path)
    if not trust:
        raise TrustRequired(
            f"{path} holds observation statistics as a pickle, which could run code. If you know where it comes from, "
            f"load the agent with trust=True (--trust), or convert the file once, "
            f"tightrope.convert_normalisation({str(path)!r}, trust=True), and give the .npz instead. To play "
            f"without them, give normalisation=False (--agent model.zip+none)"
        )
    import pickle

    return from_vecnormalize(pickle.loads(path.read_bytes()))


def from_vecnormalize(vecnormalize: Any) -> Normalisation:
    """The statistics of a VecNormalize object; one that leaves observations alone has none."""
    if not getattr(vecnormalize, "norm_obs", True):
        return Normalisation(means={}, variances={})
    running = vecnormalize.obs_rms
    named = running if isinstance(running, Mapping) else {WHOLE: running}
    wanted = getattr(vecnormalize, "norm_obs_keys", None) or list(named)
    return Normalisation(
        means={name: np.asarray(named[name].mean) for name in wanted},
        variances={name: np.asarray(named[name].var) for name in wanted},
        clip=float(vecnormalize.clip_obs),
        epsilon=float(vecnormalize.epsilon),
    )


def save_normalisation(statistics: Normalisation, path: str | PathLike[str]) -> Path:
    """Write statistics as ``.npz`` without pickles."""
    path = Path(path)
    arrays = {f"mean/{name}": value for name, value in statistics.means.items()}
    arrays |= {f"variance/{name}": value for name, value in statistics.variances.items()}
    limits = np.array([statistics.clip, statistics.epsilon])
    np.savez(path, format=np.array(FORMAT), version=np.array(VERSION), limits=limits, **arrays)  # type: ignore[arg-type]
    return path


def convert_normalisation(path: str | PathLike[str], *, trust: bool = False) -> Path:
    """Turn a trusted ``vecnormalize.pkl`` into a ``vecnormalize.npz`` beside it, which needs no trust.

    Args:
        path: Of the pickle that ``VecNormalize.save`` wrote.
        trust: Whether it may be unpickled, which could run code that is in it.
    """
    path = Path(path)
    return save_normalisation(load_normalisation(path, trust=trust), path.with_suffix(".npz"))


def _read_npz(path: Path) -> Normalisation:
    content = read_arrays(path)
    if str(content.get("format")) != FORMAT:
        raise FormatError(f"{path} is not a file of normalisation statistics: its format is {content.get('format')}")
    try:
        if (version := int(content["version"])) > VERSION:
            raise FormatError(f"{path} has version {version}; this tightrope reads up to {VERSION}. Update tightrope")
        clip, epsilon = map(float, content["limits"])
        statistics = Normalisation(
            means=_named(content, "mean/"), variances=_named(content, "variance/"), clip=clip, epsilon=epsilon
        )
        _require_usable(statistics)
        return statistics
    except DAMAGE as error:
        raise FormatError(f"{path} is damaged: a field of its statistics is missing or damaged ({error!r})") from error


def _require_usable(statistics: Normalisation) -> None:
    """Refuse what observations cannot be divided by."""
    if {name: mean.shape for name, mean in statistics.means.items()} != {
        name: variance.shape for name, variance in statistics.variances.items()
    }:
        raise ValueError("each part has a mean and a variance, of the same shape")
    if not all(np.isfinite(mean).all() for mean in statistics.means.values()):
        raise ValueError("means are finite")
    spread = (variance + statistics.epsilon for variance in statistics.variances.values())
    if not (statistics.clip > 0 and all(((part > 0) & np.isfinite(part)).all() for part in spread)):
        raise ValueError("variances are not negative, epsilon and clip are above 0")


def _named(content: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    named = {key.removeprefix(prefix): value for key, value in content.items() if key.startswith(prefix)}
    if any(value.dtype.kind != "f" for value in named.values()):
        raise ValueError("means and variances are fractions")
    return named
