"""Data of a tool call besides its arguments that is stored and shown: what it affects, icon and display texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from atelier_desk.domain.base_model import Model
from atelier_desk.support.visible_and_shortened_text import visible

_BETWEEN = " :\u00a0\u202f"
"""Separators between a text and its value."""


class CallText(Model):
    """A display text as data, translated when shown in the reader's language.

    Attributes:
        text: an English template marked with ``N_``; without ``params`` it is literal.
        params: values of its ``{placeholders}``.
    """

    text: str = ""
    params: dict[str, Any] = {}

    def localized(self, translate: Callable[..., str]) -> str:
        """Return the text in the reader's language with all characters visible.

        ``translate`` is ``atelier_desk.support.i18n._``.
        """
        return visible(translate(self.text, **self.params))

    def parts(self, translate: Callable[..., str]) -> tuple[str, str]:
        """Return the text split before the first value: ``Calculated`` and ``12 × 7``."""
        sentence, lead = self.localized(translate), translate(self.text).partition("{")[0] if self.params else ""
        first = (lead or ("" if self.params else sentence)).rstrip(_BETWEEN + "“«")
        return first, sentence[len(first) :].strip(_BETWEEN)


class Presentation(Model):
    """Display data of a call, stored with it: cards can be shown even if the tool no longer exists.

    Attributes:
        icon: name of an icon of the theme.
        title: the tool's display name, an English ``N_`` text; empty: its own name.
        summary: this call in one line, as something to be done.
        done: template of the same text once done, with the same params; empty: the summary fits both.
    """

    icon: str = ""
    title: str = ""
    summary: CallText = CallText()
    done: str = ""

    def words(self, *, over: bool = False) -> CallText:
        """Return the one-line text: what the call is to do, or with ``over`` what it did."""
        return self.summary.model_copy(update={"text": self.done}) if over and self.done else self.summary


class Subjects(Model):
    """What a call affects, as written: the facts for rules and approvals.

    Attributes:
        writes: those of ``paths`` that a command changes; for other calls their effect tells.
        folder: where the command runs, relative to the workspace folder, empty for that one.
        sandbox: the command's sandbox: ``reading``, ``workspace``, ``network`` or ``none``; empty for other calls.
    """

    paths: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    command: str = ""
    folder: str = ""
    sandbox: str = ""
    hosts: tuple[str, ...] = ()
    server: str = ""
    agents: tuple[str, ...] = ()
