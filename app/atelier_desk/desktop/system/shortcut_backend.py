"""Base of the ways to register a global shortcut, and their errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from atelier_desk.desktop.system.shortcut_key_codes import Keys


class Unavailable(Exception):
    """``reason`` explains it to the user."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BackendMissing(Unavailable):
    """This way does not exist on this system."""


class KeyTaken(Exception):
    """Another program uses the keys."""


class ShortcutTaken(Unavailable):
    """The desktop, or the user in its dialog, refused the keys."""


class ShortcutBackend(Protocol):
    """A way to register one shortcut.

    Attributes:
        pressed: called in the window's thread each time the keys are pressed.
        changed: called with the desktop's new description of the keys, or "" if they were revoked.
    """

    pressed: Callable[[], object]
    changed: Callable[[str], object]

    async def hold(self, keys: Keys) -> str:
        """Register the keys in place of the current ones; returns the desktop's description, or "" if it has none.

        Raises:
            BackendMissing, KeyTaken, ShortcutTaken
        """

    def release(self) -> None:
        """Release the keys, if any."""
