"""Texts of the program, as opposed to names and contents, that a window elides because they lack room."""

from __future__ import annotations

import re
from functools import cache

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.widgets.cards_buttons_labels import ElidedLabel
from atelier_desk.desktop.widgets.picker import Picker
from atelier_desk.support import i18n

_PLACEHOLDER = re.compile(r"\{\w+\}")


def elided_texts(root: QWidget) -> list[str]:
    """Texts and parts of lines that are cut although they are in the catalogue, one line each.

    Paints the widget: rows of lists and most buttons elide their texts only then.
    """
    elide, found = QFontMetrics.elidedText, dict[str, str]()

    def recorded(metrics: QFontMetrics, text: str, mode: Qt.TextElideMode, width: int, flags: int = 0) -> str:
        found[text] = elide(metrics, text, mode, width, flags)
        return found[text]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QFontMetrics, "elidedText", recorded)
        for each in root.findChildren(ElidedLabel):
            each._fitted = None  # what it elided at an earlier paint
        root.grab()
    found |= {each.full_text: each.text() for each in root.findChildren(Picker) if each.isVisible()}
    return [
        f"elided: {text!r} as {shown!r}"
        for text, shown in found.items()
        if "…" in shown and any(map(_is_of_the_program, _cut_parts(text, shown)))
    ]


def _cut_parts(text: str, shown: str) -> list[str]:
    """The parts of a line such as “agent · model · default” that are not fully shown."""
    parts, cut, place = text.split(" · "), shown.index("…") if shown.endswith("…") else 0, 0
    missing = []
    for part in parts:
        place += len(part)
        if shown != text and place > cut:
            missing.append(part)
        place += 3
    return missing


def _is_of_the_program(text: str) -> bool:
    """Whether it is a message, or one whose inserted values are shorter than its own words."""
    texts, patterns = _messages(i18n.language())
    return text in texts or any(
        (match := pattern.fullmatch(text)) and 2 * sum(map(len, match.groups())) < len(text) for pattern in patterns
    )


@cache
def _messages(language: str) -> tuple[set[str], list[re.Pattern[str]]]:
    """All messages in a language: those without placeholders, and patterns of the others."""
    catalogue = i18n._catalogue("fr")._catalog  # type: ignore[attr-defined]  # the one that lists all messages
    messages = {
        (key[0] if isinstance(key, tuple) else key) if language == "en" else text for key, text in catalogue.items()
    }
    plain = {each for each in messages if each and not _PLACEHOLDER.search(each)}
    patterns = [re.compile("(.*)".join(map(re.escape, _PLACEHOLDER.split(each)))) for each in messages - plain if each]
    return plain, patterns
