"""Pictures in a window, where there is a screen and pygame."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import require_extra

ENLARGED = 2


def can_open_window(environment: Mapping[str, str]) -> bool:
    """Whether there is a screen to open a window on."""
    screen = sys.platform in ("darwin", "win32") or environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    return bool(screen) and importlib.util.find_spec("pygame") is not None


def play_in_window(frames: Iterable[NDArray[np.uint8]], frames_per_second: float, title: str) -> None:
    """Show frames in a window until they end or the window is closed."""
    pygame = require_extra("pygame", "box2d", "Showing an episode in a window")
    pygame.init()
    try:
        clock, screen = pygame.time.Clock(), None
        for frame in frames:
            size = (frame.shape[1] * ENLARGED, frame.shape[0] * ENLARGED)
            if screen is None:
                screen = pygame.display.set_mode(size)
                pygame.display.set_caption(title)
            picture = pygame.surfarray.make_surface(frame.swapaxes(0, 1))
            screen.blit(pygame.transform.scale(picture, size), (0, 0))
            pygame.display.flip()
            clock.tick(frames_per_second)
            if any(event.type == pygame.QUIT for event in pygame.event.get()):
                break
    finally:
        pygame.quit()
