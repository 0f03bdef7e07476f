"""The distances of a transcript, in pixels at 100 %, all from the tokens' one scale."""

from __future__ import annotations

from typing import Final

from atelier_desk.desktop.theme.tokens import SPACING

_4, _8, _12, _16, _24, _32 = SPACING
NEAR: Final = _8
"""Between what belongs together: pictures and the text of a message, thoughts and the answer, small buttons and what they act on."""
INSIDE: Final = _12
"""Between the parts of one turn: text, cards, notices."""
TURN: Final = _24
"""Before what a person says: a turn begins."""
