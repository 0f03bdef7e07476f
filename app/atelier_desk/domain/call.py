"""What is journaled and shown of one tool call besides its arguments: what it touches, and its icon and words for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from atelier_desk.domain.base import Model


class Words(Model):
    """A text for people as data: translated where it is shown, so that it follows the language of who reads it.

    Attributes:
        text: an English template marked with ``N_``; without ``params`` it is taken as it is.
        params: the values of its ``{placeholders}``.
    """

    text: str = ""
    params: dict[str, Any] = {}

    def localized(self, translate: Callable[..., str]) -> str:
        """The text in the reader's language; ``translate`` is ``atelier_desk.i18n._``."""
        return translate(self.text, **self.params)


class Presentation(Model):
    """A call as people see it, kept with it: a card needs no tool to be shown, also when the tool is gone.

    Attributes:
        icon: name of an icon of the theme.
        title: the tool's name for people, an English ``N_`` text; empty: its own name.
        summary: this call in a line.
    """

    icon: str = ""
    title: str = ""
    summary: Words = Words()


class Subjects(Model):
    """What a call touches, as it was written: the facts that rules and approvals are about."""

    paths: tuple[str, ...] = ()
    command: str = ""
    hosts: tuple[str, ...] = ()
    server: str = ""
    agents: tuple[str, ...] = ()
