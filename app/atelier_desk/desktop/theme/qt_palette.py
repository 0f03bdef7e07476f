"""Qt's palette made from the tokens, for what the style sheet does not draw."""

from __future__ import annotations

from PySide6.QtGui import QColor, QPalette

from atelier_desk.desktop.theme.design_tokens import Tokens, blend

_Role = QPalette.ColorRole


def make_palette(tokens: Tokens) -> QPalette:
    """A full palette; disabled text is blended half into its background."""
    colours = {
        _Role.Window: tokens.bg,
        _Role.WindowText: tokens.text,
        _Role.Base: tokens.surface,
        _Role.AlternateBase: tokens.bg,
        _Role.Text: tokens.text,
        _Role.PlaceholderText: tokens.muted,
        _Role.Button: tokens.surface,
        _Role.ButtonText: tokens.text,
        _Role.BrightText: tokens.err,
        _Role.ToolTipBase: tokens.raised,
        _Role.ToolTipText: tokens.text,
        _Role.Highlight: blend(tokens.accent, tokens.surface, 0.35 if not tokens.dark else 0.45),
        _Role.HighlightedText: tokens.text,
        _Role.Accent: tokens.accent,
        _Role.Link: tokens.accent,
        _Role.LinkVisited: tokens.accent,
        _Role.Light: tokens.surface,
        _Role.Midlight: tokens.border,
        _Role.Mid: tokens.border,
        _Role.Dark: tokens.muted,
        _Role.Shadow: tokens.sunken,
    }
    palette = QPalette()
    for role, colour in colours.items():
        palette.setColor(role, QColor(colour))
    faded = QColor(blend(tokens.text, tokens.bg, 0.45))
    for role in (_Role.WindowText, _Role.Text, _Role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, faded)
    return palette
