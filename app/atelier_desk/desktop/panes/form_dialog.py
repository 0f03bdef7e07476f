"""A form in a dialog: labelled fields, validation messages, Cancel and a main button. Non-blocking."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QDialog, QFrame, QLabel, QPushButton, QScrollArea, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, control, hbox, label, vbox
from atelier_desk.desktop.widgets.enter_key import handle_enter, show_enter
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.support.i18n import _
from atelier_desk.support.visible_and_shortened_text import visible

WIDTH = 440
ON_SCREEN = 0.92
"""Maximum share of the screen's height and width: the window's frame needs some."""


class FormDialog(QDialog):
    """Base of forms. Subclasses add fields, then call ``finish``; ``problem`` validates, ``submit`` sends.

    The dialog remains open until ``accept`` or ``show_error`` is called, so no input is lost when the engine
    refuses.
    """

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(visible(title))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.area = QScrollArea(self)
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        content = control(QWidget(self.area), look="plain")
        self.area.setWidget(content)
        self._outer = vbox(self, (self.area, 1), spacing=0)
        self._column = vbox(content, label(title, "title", self), margins=(24, 20, 24, 6), spacing=6)
        self._column.addSpacing(6)
        self._touched = False
        bind(self.setMinimumWidth, lambda: theme().px(WIDTH), on="look")
        bind(self._fit_later, on="look")

    def add_field(self, text: str, field: QWidget, hint: str = "") -> QLabel:
        """Add a field below its label, which is its accessible name."""
        caption = label(text, "muted", self)
        caption.setBuddy(field)
        field.setAccessibleName(text)
        if isinstance(field, TextField):
            field.enter_sends = True
        self._column.addWidget(caption)
        self._column.addWidget(field)
        if hint:
            self._column.addWidget(label(hint, "small", self, wrap=True))
        self._column.addSpacing(4)
        return caption

    def finish(self, action: str) -> None:
        """Add the validation message and the buttons."""
        self._error = control(label("", "error", self, wrap=True), "form-error")
        self._error.hide()
        self._cancel = QPushButton(_("Cancel"), self)
        self._cancel.setAutoDefault(False)
        self._cancel.clicked.connect(self.reject)
        self._ok = control(QPushButton(action, self), "form-submit", look="primary", on=self._press)
        self._ok.setDefault(True)
        show_enter(self._ok)
        row = hbox(None, 1, self._cancel, self._ok, spacing=8)
        # Outside the scroll area: the buttons stay visible on a small screen or with large text.
        self._foot = vbox(None, self._error, row, margins=(24, 6, 24, 20), spacing=6)
        self._outer.addLayout(self._foot)
        self._column.addStretch(1)
        self.check()

    def problem(self) -> str:
        """The validation error as a sentence; empty if valid."""
        raise NotImplementedError

    def submit(self) -> None:
        """Send the values; called only if valid."""
        raise NotImplementedError

    def check(self) -> None:
        """Validate again; an error is shown only after an attempt to submit, or if a text is too long."""
        problem = self.problem()
        self._ok.setEnabled(not problem or not self._touched)
        self._show_problem(problem if self._touched else "")

    def show_error(self, text: str) -> None:
        """The engine refused: show why and keep the form."""
        self._ok.setEnabled(True)
        self._show_problem(text)

    def _show_problem(self, problem: str) -> None:
        """Show a validation error on lines of its own, growing the dialog so that fields keep their height."""
        if problem == self._error.text() and bool(problem) != self._error.isHidden():
            return
        self._error.setText(problem)
        self._error.setVisible(bool(problem))
        if self.isVisible():
            self._grow()

    def _grow(self) -> None:
        """Give the texts the height they need at this width, but take none back."""
        self._fit(self.width(), self.height())

    def _fit(self, width: int = 0, height: int = 0) -> None:
        """Resize to the height of the texts at this width, which Qt does not do, limited to the screen.

        Args:
            width, height: at least these, in pixels; by default what the content wants.
        """
        wide = max(width or self.sizeHint().width(), self.minimumWidth(), self._column.totalMinimumSize().width())
        needed = sum(
            part.totalHeightForWidth(wide) if part.hasHeightForWidth() else part.totalSizeHint().height()
            for part in (self._column, self._foot)
        )
        room = self.screen().availableSize() * ON_SCREEN
        # A scroll bar of the size before would narrow the texts, which then need it.
        self.area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.resize(min(wide, room.width()), min(max(needed, height), room.height()))
        self._outer.activate()
        self.area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)

    def _fit_later(self) -> None:
        """Resize after a change of text size, once all children have the new fonts."""
        if self.isVisible():
            QTimer.singleShot(0, self, self._fit)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def _press(self) -> None:
        self._touched = True
        self.check()
        if not self.problem():
            self._ok.setEnabled(False)
            self.submit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter submits from any field, or presses the focused button."""
        if not handle_enter(event, self, self._press):
            super().keyPressEvent(event)
