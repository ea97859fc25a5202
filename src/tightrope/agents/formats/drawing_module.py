"""Torch modules that only draw: ``get_action_and_value(observations)``, as in CleanRL.

Such a module makes a distribution and draws from it. The distribution is what tightrope needs, to take its best action
or to draw with the episode's own numbers. So it is noted at the moment the module wants to draw from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tightrope.errors import AgentError

METHOD = "get_action_and_value"


def only_draws(torch: Any, module: Any) -> bool:
    """Whether a module has this method and no ``forward`` of its own."""
    return callable(getattr(module, METHOD, None)) and type(module).forward is torch.nn.Module.forward


def described_draw(torch: Any, module: Any, observations: Any) -> tuple[Any, ...]:
    """Scores, or mean and logarithm of the standard deviation: what the module would draw from."""
    with _noted_draws(torch.distributions) as seen:
        getattr(module, METHOD)(observations)
    if seen and all(hasattr(one, "logits") for one in seen):
        return (torch.cat([one.logits for one in seen], dim=-1),)
    if len(seen) == 1:
        return seen[0].loc, seen[0].scale.log()
    raise AgentError(
        f"{type(module).__name__}.{METHOD}() draws from {[type(one).__name__ for one in seen] or 'nothing'}, and "
        f"tightrope can read a Categorical or several, or one Normal; give the module a forward() that returns scores, "
        f"or mean and log standard deviation"
    )


@contextmanager
def _noted_draws(distributions: Any) -> Iterator[list[Any]]:
    """While it lasts, a draw is answered by the distribution's middle, which takes no random numbers, and noted."""
    seen: list[Any] = []

    def most_likely(self: Any, *shape: Any, **named: Any) -> Any:
        seen.append(self)
        return self.logits.argmax(dim=-1)

    def middle(self: Any, *shape: Any, **named: Any) -> Any:
        seen.append(self)
        return self.loc

    instead = {distributions.Categorical: most_likely, distributions.Normal: middle}
    before = {(kind, name): vars(kind).get(name) for kind in instead for name in ("sample", "rsample")}
    try:
        for kind, function in instead.items():
            kind.sample = kind.rsample = function
        yield seen
    finally:
        for (kind, name), own in before.items():
            if own is None:
                delattr(kind, name)
            else:
                setattr(kind, name, own)
