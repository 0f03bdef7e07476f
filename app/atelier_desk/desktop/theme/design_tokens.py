"""Design tokens: colours, sizes and spacing of the window, and derived shades."""

from __future__ import annotations

from typing import Final, NamedTuple

SPACING: Final = (4, 8, 12, 16, 24, 32)
CHAT_COLUMN: Final = 740
"""Maximum width of the chat column, in logical pixels at 100 %."""
SCALE_RANGE: Final = (80, 200)
"""Range of the font scale in percent."""


class Tokens(NamedTuple):
    """Colours as ``#RRGGBB``.

    ``raised`` is for floating parts (dialogs, menus); ``*_soft`` are backgrounds for text of that colour.
    """

    name: str
    bg: str
    surface: str
    raised: str
    sunken: str
    border: str
    text: str
    muted: str
    accent: str
    on_accent: str
    accent_soft: str
    user: str
    ok: str
    warn: str
    err: str

    @property
    def dark(self) -> bool:
        return self.name == "dark"

    @property
    def code(self) -> str:
        """Background of code cards: between surface and sunken in light, sunken in dark."""
        return self.sunken if self.dark else blend(self.sunken, self.surface, 0.6)

    @property
    def inline_code(self) -> str:
        """Background of inline code: distinct from the transcript's background in both themes."""
        return self.raised if self.dark else self.sunken

    @property
    def ok_soft(self) -> str:
        return blend(self.ok, self.surface, 0.14)

    @property
    def warn_soft(self) -> str:
        return blend(self.warn, self.surface, 0.14)

    @property
    def err_soft(self) -> str:
        return blend(self.err, self.surface, 0.12)

    @property
    def ok_strong(self) -> str:
        """Background of words added inside a line on ``ok_soft``."""
        return blend(self.ok, self.surface, 0.34)

    @property
    def err_strong(self) -> str:
        return blend(self.err, self.surface, 0.3)

    @property
    def ok_text(self) -> str:
        """Text on ``ok_soft``: in light slightly darker than the token, which would not reach 4.5:1 there."""
        return self._on_soft(self.ok)

    @property
    def warn_text(self) -> str:
        return self._on_soft(self.warn)

    @property
    def err_text(self) -> str:
        return self._on_soft(self.err)

    @property
    def muted_text(self) -> str:
        """Muted text on ``accent_soft``, the background of a selected row."""
        return self._on_soft(self.muted)

    def _on_soft(self, colour: str) -> str:
        return colour if self.dark else blend("#000000", colour, 0.14)

    @property
    def number(self) -> str:
        """Numbers in code."""
        return self.warn_text

    @property
    def hover(self) -> str:
        """Hover background on ``bg``."""
        return blend(self.text, self.bg, 0.05 if self.dark else 0.03)  # muted text on it keeps 4.5:1

    @property
    def accent_hover(self) -> str:
        return blend(self.text, self.accent, 0.12)

    @property
    def field_border(self) -> str:
        """Border of fields and unchecked boxes: visible enough without a label."""
        return blend(self.muted, self.border, 0.45)

    @property
    def keyword(self) -> str:
        return "#B79CF7" if self.dark else "#7A3EC8"

    @property
    def function(self) -> str:
        return "#7FB3F5" if self.dark else "#2559B8"

    @property
    def teal(self) -> str:
        """An additional colour for charts."""
        return "#5CC4BC" if self.dark else "#0F766E"


LIGHT: Final = Tokens(
    name="light",
    bg="#F7F7F5",
    surface="#FFFFFF",
    raised="#FFFFFF",
    sunken="#F0F0ED",
    border="#E3E3DE",
    text="#1F2023",
    muted="#6B6D76",
    accent="#5B5BD6",
    on_accent="#FFFFFF",
    accent_soft="#ECECFB",
    user="#EFEEFC",
    ok="#2F7D4F",
    warn="#9A6700",
    err="#C4372B",
)
DARK: Final = Tokens(
    name="dark",
    bg="#17181C",
    surface="#1E1F24",
    raised="#24262C",
    sunken="#131418",
    border="#30323A",
    text="#ECECEF",
    muted="#A0A3AD",
    accent="#8A8AF2",
    on_accent="#14141C",
    accent_soft="#2A2B45",
    user="#2A2B45",
    ok="#5CC08A",
    warn="#E0B454",
    err="#F07A6E",
)


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def blend(over: str, under: str, share: float) -> str:
    """``share`` (0–1) of ``over`` on ``under``."""
    mixed = (round(o * share + u * (1 - share)) for o, u in zip(_rgb(over), _rgb(under), strict=True))
    return "#" + "".join(f"{value:02X}" for value in mixed)


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colours, 1–21, by WCAG 2.1."""

    def luminance(colour: str) -> float:
        parts = [value / 255 for value in _rgb(colour)]
        linear = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)
