"""A search field: a line edit with a magnifier."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets.cards_buttons_labels import IconButton
from atelier_desk.desktop.widgets.language_theme_bindings import bind
from atelier_desk.support.i18n import N_


class SearchField(QLineEdit):
    """A line edit with a magnifier that scales with the text; Qt draws icons of fields in one size."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        mark(self, "search")
        self._lens = IconButton("search", N_("Search"), self)
        self._lens.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._lens.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        bind(self._place)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        wide = theme().px(26)
        self._lens.setGeometry(0, 0, wide, self.height())
        self.setTextMargins(wide - 4, 0, 0, 0)
