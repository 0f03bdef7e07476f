"""Undo of deletions in a window: toast buttons and Ctrl+Z use the same stack."""

from __future__ import annotations

from collections.abc import Callable

from PySide6 import QtGui, QtWidgets  # importing their QKeySequence and large fields makes these before the first paint
from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget
from shiboken6 import isValid

DEPTH = 50
"""Maximum number of deletions remembered; the oldest is dropped."""
_FIELDS = ("QLineEdit", "QPlainTextEdit", "QTextEdit")


class Undoable:
    """A deletion: its message, the function that restores it, and what to close afterwards."""

    def __init__(self, text: str, undo: Callable[[], object]) -> None:
        self.text, self.undo = text, undo
        self.done: Callable[[], object] = lambda: None


class UndoStack(QObject):
    """The deletions of a window, newest last.

    Ctrl+Z in a text field undoes typing first, then deletions: after deleting a workflow the focus is in the
    composer.

    Signals:
        changed: whether there is anything to undo.
    """

    changed = Signal(bool)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._entries: list[Undoable] = []
        self._field: QWidget | None = None
        qt = QApplication.instance()
        if isinstance(qt, QApplication):
            qt.focusChanged.connect(self._on_focus)
            self._on_focus(None, qt.focusWidget())

    def __len__(self) -> int:
        return len(self._entries)

    def push(self, text: str, undo: Callable[[], object]) -> Undoable:
        """Push a deletion."""
        entry = Undoable(text, undo)
        self._entries = [*self._entries, entry][-DEPTH:]
        self.changed.emit(True)
        return entry

    def undo(self, entry: Undoable | None = None) -> None:
        """Restore this deletion, or the newest; no effect if already restored."""
        if entry is None:
            entry = self._entries[-1] if self._entries else None
        if entry is None or entry not in self._entries:
            return
        self._entries.remove(entry)
        self.changed.emit(bool(self._entries))
        entry.done()
        entry.undo()

    def _on_focus(self, _old: QWidget | None, now: QWidget | None) -> None:
        # A field being deleted gives up the focus as its last action.
        if self._field is not None and isValid(self._field):
            self._field.removeEventFilter(self)
        self._field = None
        if now is not None and now.window() is self._window and any(map(now.inherits, _FIELDS)):
            self._field = now
            now.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        ours = (
            event.type() is QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.matches(QtGui.QKeySequence.StandardKey.Undo)
        )
        if not ours or not self._entries or _typing_to_undo(watched):
            return False
        event.ignore()  # the field would claim the key without using it
        return True


def _typing_to_undo(field: QObject) -> bool:
    if isinstance(field, QLineEdit):
        return field.isUndoAvailable()
    return (
        isinstance(field, QtWidgets.QPlainTextEdit | QtWidgets.QTextEdit)
        and not field.isReadOnly()
        and field.document().isUndoAvailable()
    )
