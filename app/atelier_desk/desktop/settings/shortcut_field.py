"""The shortcut field of an action: shows, records, clears or resets its keys."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QKeySequenceEdit, QPushButton, QWidget

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import IconButton, bind_text, control, hbox
from atelier_desk.desktop.widgets.language_theme_bindings import Text, text_of
from atelier_desk.support.i18n import N_, _

WIDTH = 184
"""Width of the field, in logical pixels at 100 %."""
CLEARS = (Qt.Key.Key_Backspace, Qt.Key.Key_Delete)


class KeyField(QWidget):
    """``shortcut-<action>``. A click or Enter starts recording; Esc cancels, Backspace clears.

    ``recorded`` carries new keys, ``reset_requested`` comes from the button that restores the defaults.
    """

    recorded = Signal(QKeySequence)
    reset_requested = Signal()

    def __init__(self, name: str, title: Text, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keys = QKeySequence()
        self.button = control(QPushButton(self), f"shortcut-{name}", on=self.record)
        self.edit = QKeySequenceEdit(self)
        self.edit.setObjectName(f"shortcut-edit-{name}")
        self.edit.setMaximumSequenceLength(1)
        self.edit.hide()
        self.reset = control(
            IconButton("rotate-ccw", parent=self), f"shortcut-reset-{name}", on=self.reset_requested.emit
        )
        bind_text(
            self.button,
            lambda: self._text(),
            name=lambda: _("{action}: {keys}", action=text_of(title), keys=self._text()),
        )
        bind_text(self.edit, name=lambda: _("New shortcut for: {action}", action=text_of(title)))
        bind_text(
            self.reset, tip=N_("Reset to default"), name=lambda: _("Reset to default: {action}", action=text_of(title))
        )
        hbox(self, self.reset, self.button, self.edit, spacing=4)
        policy = self.reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(policy)
        # Qt's own field would record Esc and Backspace as shortcuts.
        self._inner = self.edit.findChildren(QWidget)
        for widget in (self.edit, *self._inner):
            widget.installEventFilter(self)
        self.edit.keySequenceChanged.connect(self._on_keys)
        theme().changed.connect(self._restyle)
        self._restyle()

    def show_keys(self, keys: QKeySequence, usual: bool) -> None:
        """Show the action's keys; ``usual``: they are the defaults."""
        self._keys = keys
        bind_text(self.button)
        mark(self.button, "" if not keys.isEmpty() else "ghost")
        self.reset.setVisible(not usual)

    def record(self) -> None:
        """Record the next keys."""
        self.button.hide()
        self.edit.clear()
        self.edit.show()
        self.edit.setFocus()

    def _text(self) -> str:
        return self._keys.toString(QKeySequence.SequenceFormat.NativeText) or _("none")

    def _on_keys(self, keys: QKeySequence) -> None:
        if not self.edit.isHidden() and not keys.isEmpty():
            self._leave()
            self.recorded.emit(keys)

    def _leave(self) -> None:
        self.edit.hide()
        self.button.show()
        self.button.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusOut and not self.edit.isHidden():
            self.edit.hide()
            self.button.show()
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and not event.modifiers():
            if event.key() == Qt.Key.Key_Escape:
                self._leave()
                return True
            if event.key() in CLEARS:
                self._leave()
                self.recorded.emit(QKeySequence())
                return True
        return super().eventFilter(watched, event)

    def _restyle(self) -> None:
        for widget in (self.button, self.edit):
            widget.setFixedWidth(theme().px(WIDTH))
