"""What a pane shows when it has nothing, in as little room as the pane has."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import EmptyState

MARGIN = 24
SMALL_MARGIN = 4
SIDE = 16


class PaneEmpty(EmptyState):
    """An empty state that never asks a pane for room.

    Short panes lose first the margins, then the icon, then the hint (which stays in the tool tip), never the title or the button.
    """

    def __init__(self, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(icon, parent=parent)
        self._hint_text = ""
        theme().changed.connect(self._fit)

    def set_texts(self, title: str, hint: str = "", button: str = "") -> None:
        self._hint_text = hint
        super().set_texts(title, hint, button)
        self.setAccessibleName(title)
        self.setAccessibleDescription(hint)
        self._fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Take the first arrangement that fits: (margin, icon, hint)."""
        for margin, icon, hint in ((MARGIN, True, True), (SMALL_MARGIN, True, True), (SMALL_MARGIN, False, True), (0, False, False)):
            if self._needed(margin, icon, hint) <= self.height() or not (icon or hint):
                break
        layout = self.layout()
        if isinstance(layout, QVBoxLayout):
            side = SIDE if self.button.sizeHint().width() <= self.width() - 2 * SIDE else 0
            layout.setContentsMargins(side, margin, side, margin)
            layout.setSpacing(8 if icon else 4)
        self._icon.setVisible(icon)
        self._hint.setVisible(hint and bool(self._hint_text))
        self.setToolTip("" if hint else self._hint_text)

    def _needed(self, margin: int, icon: bool, hint: bool) -> int:
        """The height of the lines that would be shown, at the present width."""
        spacing = 8 if icon else 4
        width = max(40, self.width() - 2 * SIDE)
        heights = [theme().px(22)] if icon else []
        for label, shown in ((self._title, True), (self._hint, hint and bool(self._hint_text))):
            if shown:
                flags = int(Qt.AlignmentFlag.AlignHCenter) | int(Qt.TextFlag.TextWordWrap)
                heights.append(label.fontMetrics().boundingRect(0, 0, width, 10_000, flags, label.text()).height())
        if not self.button.isHidden():
            heights.append(self.button.sizeHint().height())
        return sum(heights) + spacing * (len(heights) - 1) + 2 * margin
