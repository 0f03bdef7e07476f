"""The current theme: tokens, font scale, and everything derived from them."""

from __future__ import annotations

import string
from functools import cache
from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QGuiApplication, QIcon, QPixmap
from PySide6.QtWidgets import QApplication, QWidget

from atelier_desk.desktop.theme import icons, resource_paths_and_fonts
from atelier_desk.desktop.theme.design_tokens import DARK, LIGHT, SCALE_RANGE, Tokens, blend
from atelier_desk.desktop.theme.qt_palette import make_palette

STYLE = ("-style", "Fusion")
"""Arguments for the QApplication.

``setStyle`` returns a QStyle, whose 560 constants PySide creates at its first use: nothing names QStyle before the
first paint.
"""
Mode = Literal["system", "light", "dark"]
Role = Literal["text", "muted", "accent", "on_accent", "ok", "warn", "err"]

_WEIGHTS = {
    400: QFont.Weight.Normal,
    500: QFont.Weight.Medium,
    600: QFont.Weight.DemiBold,
    700: QFont.Weight.Bold,
}


_DERIVED = (
    "code",
    "ok_soft",
    "warn_soft",
    "err_soft",
    "ok_text",
    "warn_text",
    "err_text",
    "muted_text",
    "hover",
    "accent_hover",
    "field_border",
)


_FONT_CLASSES = (
    "QPushButton",
    "QToolButton",
    "QLabel",
    "QListView",
    "QMenu",
    "QCheckBox",
    "QComboBox",
    "QLineEdit",
    "QTabBar",
)


class Theme(QObject):
    """Colours, fonts and icons for every widget.

    Attributes:
        tokens: the current colours.
        scale: factor of all font sizes, 0.8–2.0.

    Signals:
        changed: after tokens or scale changed and the style sheet was set; widgets that paint or tint update
            themselves.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.mode: Mode = "system"
        self.tokens: Tokens = LIGHT
        self.scale = 1.0
        self._installed = False

    def install(self, mode: Mode = "system", scale_percent: int = 100) -> None:
        """Set up palette, fonts and style sheet. Call once; the QApplication was created with ``STYLE``."""
        resource_paths_and_fonts.load_fonts()
        self._installed = True
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._on_system_scheme)
        self.mode = mode
        self.scale = _clamp(scale_percent) / 100
        self._apply()

    def set_mode(self, mode: Mode) -> None:
        """Light, dark or system; applied at once."""
        if mode != self.mode:
            self.mode = mode
            self._apply()

    def set_scale(self, percent: int) -> None:
        """Set the font scale in percent, clamped to 80–200."""
        scale = _clamp(percent) / 100
        if scale != self.scale:
            self.scale = scale
            self._apply()

    @property
    def square_popups(self) -> bool:
        """Whether popups have square corners: on Wayland masks have no effect, and unpainted corners would be black."""
        return QGuiApplication.platformName().startswith("wayland")

    def restore_fonts(self) -> None:
        """Remove fonts that Qt set for single classes of widgets, which it does whenever GNOME sends its settings.

        ``QApplication.setFont`` drops them, and widgets use the remaining one when the style sheet is set again.
        """
        if any(QApplication.font(kind).family() != resource_paths_and_fonts.SANS for kind in _FONT_CLASSES):  # type: ignore[call-overload]
            self._apply()

    def px(self, size: float) -> int:
        """A length scaled with the font scale, in logical pixels."""
        return max(1, round(size * self.scale))

    def font(self, px: int, weight: int = 400, mono: bool = False, italic: bool = False) -> QFont:
        """The bundled sans or monospaced font at ``px`` logical pixels before scaling."""
        font = QFont(resource_paths_and_fonts.MONO if mono else resource_paths_and_fonts.SANS)
        font.setStyleHint(QFont.StyleHint.Monospace if mono else QFont.StyleHint.SansSerif)
        font.setPixelSize(self.px(px))
        font.setWeight(_WEIGHTS.get(weight, QFont.Weight.Normal))
        font.setItalic(italic)
        if mono:
            font.setStyleStrategy(QFont.StyleStrategy.PreferAntialias)
        return font

    def colour(self, role: str) -> QColor:
        """A token as a QColor, by attribute name."""
        return QColor(getattr(self.tokens, role))

    def icon(self, name: str, role: Role = "muted", size: int = 16) -> QIcon:
        """A bundled icon tinted with a token, for ``size`` logical pixels at 100 %."""
        ratios = tuple(sorted({screen.devicePixelRatio() for screen in QGuiApplication.screens()})) or (1.0,)
        disabled = blend(self.tokens.muted, self.tokens.bg, 0.5)
        return icons.tinted(name, getattr(self.tokens, role), self.px(size), ratios, disabled)

    def pixmap(self, name: str, role: Role = "muted", size: int = 16, ratio: float = 1.0) -> QPixmap:
        """A bundled icon as an image of ``size`` logical pixels for painting."""
        return icons.pixmap(name, getattr(self.tokens, role), size, ratio)

    @staticmethod
    def mark(widget: QWidget, variant: str) -> None:
        """See ``mark``."""
        mark(widget, variant)

    def style_sheet(self) -> str:
        """The style sheet with tokens and scaled sizes."""
        template = (resource_paths_and_fonts.resource_dir() / "style.qss").read_text(encoding="utf-8")
        tokens = self.tokens
        names = (*Tokens._fields, *_DERIVED)
        values = {name: getattr(tokens, name) for name in names}
        values |= {
            f"px{size}": f"{self.px(size)}px"
            for size in (1, 4, 5, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 28, 30, 32, 34, 36)
        }
        values |= {
            # Half the width of a circle with its border of 1 px: with a larger radius Qt draws a square.
            "round16": f"{(self.px(16) + 2) // 2}px",
            "round14": f"{(self.px(14) + 4) // 2}px",  # the same with a border of 2 px
            "half14": f"{self.px(14) // 2}px",
            "icons": (resource_paths_and_fonts.resource_dir() / "icons" / "indicators").as_posix(),
            "theme": tokens.name,
            **{f"popup{radius}": "0" if self.square_popups else f"{radius}px" for radius in (8, 10)},
            "sans": resource_paths_and_fonts.SANS,
            "mono": resource_paths_and_fonts.MONO,
            "warn_faint": blend(tokens.warn, tokens.surface, 0.07),
            "warn_edge": blend(tokens.warn, tokens.surface, 0.45),
            "err_faint": blend(tokens.err, tokens.surface, 0.06),
            "faded": blend(tokens.text, tokens.bg, 0.45),
            "accent_faded": blend(tokens.accent, tokens.bg, 0.45),
            "accent_pressed": blend("#000000", tokens.accent, 0.14),
        }
        return string.Template(template).substitute(values)

    def _on_system_scheme(self) -> None:
        if self.mode == "system":
            self._apply()

    def _apply(self) -> None:
        self.tokens = self._mode_tokens()
        if not self._installed:
            return
        application = _application()
        application.setPalette(make_palette(self.tokens))
        application.setFont(self.font(14))
        self._set_style_sheet(application)
        self.changed.emit()

    def _set_style_sheet(self, application: QApplication) -> None:
        """Set the style sheet after removing the old one, which takes a third of the time in a filled window.

        When one sheet replaces another, Qt updates each widget once per ancestor, with all palette and font changes
        (``updateObjects`` in qstylesheetstyle.cpp descends from each); a first one only once per widget.
        """
        if application.styleSheet():
            application.setStyleSheet("")
        application.setStyleSheet(self.style_sheet())

    def _mode_tokens(self) -> Tokens:
        if self.mode == "system":
            return DARK if QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark else LIGHT
        return DARK if self.mode == "dark" else LIGHT


@cache
def theme() -> Theme:
    """The program's theme."""
    return Theme()


def mark(widget: QWidget, variant: str) -> None:
    """Set a widget's variant of the style sheet: primary, ghost, danger, chip, card, heading, title, muted, mono …"""
    if widget.property("variant") == variant:
        return
    widget.setProperty("variant", variant)
    if not widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
        return  # the variant applies when it is first shown
    style = widget.style()
    style.unpolish(widget)
    style.polish(widget)
    widget.update()


def _application() -> QApplication:
    application = QApplication.instance()
    if not isinstance(application, QApplication):
        raise RuntimeError("the theme needs a QApplication")
    return application


def _clamp(percent: int) -> int:
    return min(max(percent, SCALE_RANGE[0]), SCALE_RANGE[1])
