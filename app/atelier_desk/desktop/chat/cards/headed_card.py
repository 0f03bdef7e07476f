"""A card that begins with an icon, a title and a line of text."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets import Card, hbox, label, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel


class HeadedCard(Card):
    """Base of such cards.

    Subclasses add widgets to ``head`` (right of the text), ``words`` (below, aligned with it) or ``body`` (below
    all).
    """

    def __init__(self, parent: QWidget | None = None, variant: str = "card") -> None:
        super().__init__(parent, variant)
        self._icon = PlainLabel(parent=self)
        self.title = label("", "strong", self, wrap=True)
        self.text = label("", "muted", self, wrap=True)
        self.words = words = vbox(None, self.title, self.text, spacing=4)
        self.head = hbox(None, (self._icon, 0, Qt.AlignmentFlag.AlignTop), (words, 1), spacing=10)
        self.body.addLayout(self.head)

    def show_head(self, icon: str, role: Role, title: str, text: str) -> None:
        """Set icon and icon colour, title and text; an empty text takes no space."""
        self._icon.setPixmap(theme().pixmap(icon, role, theme().px(16), self.devicePixelRatioF()))
        self.title.setText(title)
        self.text.setText(text)
        self.text.setVisible(bool(text))

    def fit(self, width: int) -> int:
        """Lay out for this width in pixels; returns the height."""
        self.setFixedWidth(width)
        return self.body.totalHeightForWidth(width) if self.body.hasHeightForWidth() else self.body.sizeHint().height()
