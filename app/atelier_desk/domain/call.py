"""What is journaled and shown of one tool call besides its arguments: what it touches, and its icon and words for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from atelier_desk.domain.base import Model
from atelier_desk.support.text import visible

_BETWEEN = " :\u00a0\u202f"
"""What stands between a text and its value."""


class CallText(Model):
    """A text for people as data: translated where it is shown, so that it follows the language of who reads it.

    Attributes:
        text: an English template marked with ``N_``; without ``params`` it is taken as it is.
        params: the values of its ``{placeholders}``.
    """

    text: str = ""
    params: dict[str, Any] = {}

    def localized(self, translate: Callable[..., str]) -> str:
        """The text in the reader's language, all of it visible; ``translate`` is ``atelier_desk.support.i18n._``."""
        return visible(translate(self.text, **self.params))

    def parts(self, translate: Callable[..., str]) -> tuple[str, str]:
        """The same in two: what stands before the first value, and the rest: ``Calculated`` and ``12 × 7``."""
        whole, lead = self.localized(translate), translate(self.text).partition("{")[0] if self.params else ""
        first = (lead or ("" if self.params else whole)).rstrip(_BETWEEN + "“«")
        return first, whole[len(first) :].strip(_BETWEEN)


class Presentation(Model):
    """A call as people see it, kept with it: a card needs no tool to be shown, also when the tool is gone.

    Attributes:
        icon: name of an icon of the theme.
        title: the tool's name for people, an English ``N_`` text; empty: its own name.
        summary: this call in a line, as something to be done.
        done: the template of the same, with the same params, once it is done; empty: the summary fits both.
    """

    icon: str = ""
    title: str = ""
    summary: CallText = CallText()
    done: str = ""

    def words(self, *, over: bool = False) -> CallText:
        """The call in a line: what it is to do, or with ``over`` what it did."""
        return self.summary.model_copy(update={"text": self.done}) if over and self.done else self.summary


class Subjects(Model):
    """What a call touches, as it was written: the facts that rules and approvals are about.

    Attributes:
        writes: those of ``paths`` that a command changes; other calls say by their effect whether they change them.
        folder: where the command runs, as the call names it: from the workspace folder on, empty for that one.
        sandbox: what the command is kept in: ``reading``, ``workspace``, ``network`` or ``none``; empty for a call without one.
    """

    paths: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    command: str = ""
    folder: str = ""
    sandbox: str = ""
    hosts: tuple[str, ...] = ()
    server: str = ""
    agents: tuple[str, ...] = ()
