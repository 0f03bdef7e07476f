"""One notification: what it says, what a click does, and the answers it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from atelier_desk.support.text import visible


@dataclass(frozen=True, slots=True)
class Action:
    """A button of a notification: its word, and what pressing it does."""

    label: str
    run: Callable[[], object]

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", visible(self.label))


@dataclass(frozen=True, slots=True)
class Notice:
    """Plain text without secrets, all of it visible. ``about`` names what it waits for, so that it can be taken back; ``reply`` takes a
    text that was written into the notification, where the desktop has a field for it."""

    title: str
    text: str
    open: Callable[[], object]
    about: str = ""
    actions: tuple[Action, ...] = ()
    reply: Callable[[str], object] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", visible(self.title))
        object.__setattr__(self, "text", visible(self.text))


class Notifier(Protocol):
    """Shows notices outside the window.

    Attributes:
        there: whether this desktop has such notifications, as far as is known.
        wanted: whether what a notice is ``about`` still waits.
    """

    wanted: Callable[[str], bool]

    @property
    def there(self) -> bool: ...

    def show(self, notice: Notice, otherwise: Callable[[], object]) -> None:
        """Show it; ``otherwise`` is called where that turns out not to be possible."""

    def tidy(self) -> None:
        """Take back the notices of what does not wait any more."""
