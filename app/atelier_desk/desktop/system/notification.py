"""A notification: its text, click action and buttons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from atelier_desk.support.visible_and_shortened_text import visible


@dataclass(frozen=True, slots=True)
class Action:
    """A button of a notification: label and callback."""

    label: str
    run: Callable[[], object]

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", visible(self.label))


@dataclass(frozen=True, slots=True)
class Notice:
    """Plain text without secrets, with all characters visible.

    ``about`` identifies its subject, so that it can be withdrawn; ``reply`` receives a text typed into the
    notification, if supported.
    """

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
    """Shows notifications outside the window.

    Attributes:
        there: whether this desktop supports them, as far as known.
        wanted: returns whether the subject of a notification is still pending.
    """

    wanted: Callable[[str], bool]

    @property
    def there(self) -> bool: ...

    def show(self, notice: Notice, otherwise: Callable[[], object]) -> None:
        """Show a notification; ``otherwise`` is called if that fails."""

    def tidy(self) -> None:
        """Withdraw notifications whose subject is no longer pending."""
