"""The spacing of a transcript, in pixels at 100 %, all from the theme's scale."""

from __future__ import annotations

from typing import Final

from atelier_desk.desktop.theme.design_tokens import SPACING

_4, _8, _12, _16, _24, _32 = SPACING
NEAR: Final = _8
"""Between related parts: images and text of a message, reasoning and answer, buttons and their object."""
INSIDE: Final = _12
"""Between the parts of one turn: text, cards, notices."""
TURN: Final = _24
"""Before the user's message, which begins a turn."""
