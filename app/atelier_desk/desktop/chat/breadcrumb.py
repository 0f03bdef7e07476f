"""The path from the root agent to the one in view (root › child › grandchild), with links back."""

from __future__ import annotations

from PySide6.QtCore import QSize, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import ElidedLabel, IconButton, bind, control, hbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.presentation.rows.team_state import Member
from atelier_desk.support.i18n import _
from atelier_desk.support.visible_and_shortened_text import visible

LEAST_NAME = 120
"""Minimum pixels at 100 % for the name of the agent in view before its ancestors are shown."""


class Breadcrumb(QWidget):
    """``agent-breadcrumb``: links to the ancestors of the agent in view.

    Signals:
        chosen: run id of an ancestor.
    """

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("agent-breadcrumb")
        self._path: list[Member] = []
        self._shown: list[tuple[str, str]] = []
        self.back = control(IconButton("chevron-left", parent=self), "agent-back", on=self.open_parent)
        self._row = hbox(self, self.back, spacing=2)
        self._parts: list[QWidget] = []
        bind(self._show)

    def show_path(self, path: list[Member]) -> None:
        """Show the path from the root to the agent in view."""
        self._path = path
        crumbs = [(member.run_id, member.name) for member in path]
        if crumbs == self._shown:
            return
        self._shown = crumbs
        for old in self._parts:
            old.deleteLater()
        self._parts = []
        for number, (run_id, _name) in enumerate(crumbs, 1):
            last = number == len(crumbs)
            part = self._current() if last else self._crumb(run_id)
            self._parts.append(part)
            self._row.addWidget(part, 1 if last else 0)
            if not last:
                arrow = PlainLabel(parent=self)
                self._parts.append(arrow)
                self._row.addWidget(arrow)
        self._show()

    def _show(self) -> None:
        self._name()
        for arrow in self._parts[1::2]:
            if isinstance(arrow, QLabel):
                arrow.setPixmap(theme().pixmap("chevron-right", "muted", theme().px(13), self.devicePixelRatioF()))
        QTimer.singleShot(0, self, self._fit)  # after the labels have their fonts
        self._fit()

    def _fit(self) -> None:
        """Show complete names only: when there is no room for all, those nearest to the root are hidden."""
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

    def _crumb(self, run_id: str) -> QPushButton:
        button = control(QPushButton(self), "agent-crumb", look="crumb", on=lambda: self.chosen.emit(run_id))
        button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        return button

    def _current(self) -> ElidedLabel:
        shown = control(ElidedLabel("", self), look="strong")
        shown.setContentsMargins(6, 0, 0, 0)
        return shown

    def open_parent(self) -> None:
        """Open the parent of the agent in view."""
        if len(self._path) > 1:
            self.chosen.emit(self._path[-2].run_id)
        else:
            self.chosen.emit("")

    def _name(self) -> None:
        for part, (_run_id, name) in zip(self._parts[::2], self._shown, strict=True):
            shown = visible(name) or _("Agent")
            if isinstance(part, QPushButton):
                part.setText(shown)
                part.setAccessibleName(_("Go to {agent}", agent=shown))
            elif isinstance(part, ElidedLabel):
                part.setText(shown)
        above = self._path[-2].name if len(self._path) > 1 else ""
        self.back.describe(_("Back to {agent}", agent=above) if above else _("Back"), "Alt+Left")
        self.setAccessibleName(visible(" › ".join(name for _run, name in self._shown)))
