"""Where in the team the reader is: root › child › grandchild, with a way back."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from app.desktop.team.state import Member
from app.desktop.theme import mark, theme
from app.desktop.widgets import ElidedLabel, IconButton, Translated
from app.i18n import _

LEAST_NAME = 120
"""Pixels at 100 % the name of the agent in view gets before those above it are shown."""


class Breadcrumb(Translated, QWidget):
    """``agent-breadcrumb``.

    Signals:
        chosen: run id of an agent above the one shown.
    """

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("agent-breadcrumb")
        self._path: list[Member] = []
        self._shown: list[tuple[str, str]] = []
        self.back = IconButton("arrow-up", parent=self)
        self.back.set_icon("chevron-left")
        self.back.setObjectName("agent-back")
        self.back.clicked.connect(lambda *_: self.go_up())
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(2)
        self._row.addWidget(self.back)
        self._parts: list[QWidget] = []
        self.retranslate()

    def show_path(self, path: list[Member]) -> None:
        """From the root to the one in view."""
        self._path = path
        wanted = [(member.run_id, member.name) for member in path]
        if wanted == self._shown:
            return
        self._shown = wanted
        for old in self._parts:
            old.deleteLater()
        self._parts = []
        for number, member in enumerate(path):
            last = number == len(path) - 1
            name = member.name or _("Agent")
            part: QWidget = self._current(name) if last else self._crumb(member.run_id, name)
            self._parts.append(part)
            self._row.addWidget(part, 1 if last else 0)
            if not last:
                arrow = QLabel(self)
                arrow.setPixmap(theme().pixmap("chevron-right", "muted", theme().px(13), self.devicePixelRatioF()))
                self._parts.append(arrow)
                self._row.addWidget(arrow)
        self.retranslate()
        self._fit()

    def _fit(self) -> None:
        """Whole names or none: where there is no room for all, those nearest to the root are left out."""
        if not self._parts:
            return
        *above, last = self._parts
        room = self.width() - self.back.sizeHint().width() - self._row.spacing()
        room -= min(last.fontMetrics().horizontalAdvance(self._shown[-1][1]) + 10, theme().px(LEAST_NAME))
        for crumb, arrow in reversed(list(zip(above[::2], above[1::2], strict=True))):
            room -= crumb.sizeHint().width() + arrow.sizeHint().width() + 2 * self._row.spacing()
            crumb.setVisible(room >= 0)
            arrow.setVisible(room >= 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(LEAST_NAME), super().minimumSizeHint().height())

    def _crumb(self, run_id: str, name: str) -> QPushButton:
        button = QPushButton(name, self)
        button.setObjectName("agent-crumb")
        mark(button, "crumb")
        button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        button.setAccessibleName(_("Go to {agent}", agent=name))
        button.clicked.connect(lambda *_: self.chosen.emit(run_id))
        return button

    def _current(self, name: str) -> ElidedLabel:
        shown = ElidedLabel(name, self)
        mark(shown, "strong")
        shown.setContentsMargins(6, 0, 0, 0)
        return shown

    def go_up(self) -> None:
        """To the parent of the one in view."""
        if len(self._path) > 1:
            self.chosen.emit(self._path[-2].run_id)
        else:
            self.chosen.emit("")

    def retranslate(self) -> None:
        above = self._path[-2].name if len(self._path) > 1 else ""
        self.back.describe(_("Back to {agent}", agent=above) if above else _("Back"), "Alt+Left")
        self.setAccessibleName(" › ".join(name for _run, name in self._shown))
