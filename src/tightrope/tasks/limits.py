"""After how many steps an environment says that its episodes are over."""

from __future__ import annotations

from typing import Any


def own_limit(env: Any) -> int | None:
    """What the environment says of its limit: Gymnasium's wrapper, or an attribute that many share; None: nothing."""
    limits = [getattr(env.unwrapped, "max_steps", None)]
    layer = env
    while layer is not None:
        limits.append(vars(layer).get("_max_episode_steps"))
        layer = vars(layer).get("env")
    return min((limit for limit in limits if isinstance(limit, int) and limit > 0), default=None)
