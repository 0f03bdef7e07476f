"""Tool tips that show untrusted texts as they are: Qt has no text format for them, and guesses HTML."""

from __future__ import annotations

import re

from PySide6.QtGui import Qt

from atelier_desk.support.visible_and_shortened_text import visible

_JOINER = "\u2060"
"""Has no width, and follows what begins a tag or an entity, which then is neither."""
_BEGINS = re.compile("[<&]")


def plain_tip(text: str) -> str:
    """A text for ``setToolTip``, ``QToolTip.showText`` and ``ToolTipRole``: no HTML, and no hidden characters.

    A text that went through it before stays the same.
    """
    shown = visible(text.replace(_JOINER, ""))
    if not Qt.mightBeRichText(shown):
        return shown
    return _BEGINS.sub(lambda found: found.group() + _JOINER, shown)


def wrapped_tip(*lines: str) -> str:
    """A tool tip as HTML, with these texts, a line each: Qt wraps long lines of HTML only."""
    return Qt.convertFromPlainText("\n".join(visible(each) for each in lines), Qt.WhiteSpaceMode.WhiteSpaceNormal)
