"""What every way to a key of the whole desktop offers, and why one may not be had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from atelier_desk.desktop.system.key_names import Keys


class Unavailable(Exception):
    """``reason`` says why, for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BackendMissing(Unavailable):
    """This way is not there on this system."""


class KeyTaken(Exception):
    """Another program has the key."""


class ShortcutTaken(Unavailable):
    """The desktop, or the person in its dialog, did not give the key."""


class ShortcutBackend(Protocol):
    """One way to hold a key.

    Attributes:
        pressed: called in the window's thread each time the key is pressed.
        changed: called with the words of the desktop for the key when it became another one, or "" when it was taken away.
    """

    pressed: Callable[[], object]
    changed: Callable[[str], object]

    async def hold(self, keys: Keys) -> str:
        """Take the key, instead of the one held before; gives the desktop's own words for it, or "" where it has none.

        Raises:
            NotHere, KeyTaken, Refused
        """

    def release(self) -> None:
        """Give the key back; without one nothing happens."""
