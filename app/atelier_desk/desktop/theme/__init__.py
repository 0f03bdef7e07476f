"""The theme: colours, fonts, icons and the style sheet, all made from one set of tokens.

``theme()`` is the single instance; ``mark(widget, "primary")`` selects a variant of the style sheet.
"""

from __future__ import annotations

from atelier_desk.desktop.theme.design_tokens import DARK, LIGHT, Tokens, blend, contrast
from atelier_desk.desktop.theme.manager import STYLE, Theme, mark, theme

__all__ = ["DARK", "LIGHT", "STYLE", "Theme", "Tokens", "blend", "contrast", "mark", "theme"]
