"""Completion above the composer: the field keeps the focus, arrows select, Enter and Tab accept, Esc closes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QFrame, QPlainTextEdit

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import bind_text, vbox
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.language_theme_bindings import Text
from atelier_desk.desktop.widgets.list_rows import ListRow
from atelier_desk.desktop.widgets.search_result_list import SearchList

WAIT_MS = 100
"""Milliseconds after the last key before searching."""
ROWS = 9


@dataclass(frozen=True, slots=True)
class Completed:
    """A suggestion.

    Attributes:
        text: replaces the typed word, including its trigger.
        title: its name in the list; empty for ``text``.
        detail: shown after the name.
        about: the tool tip.
        data: passed on with ``Completion.chosen``.
        waits: the typed word stays until the receiver of ``chosen`` replaces it.
    """

    text: str
    title: str = ""
    detail: str = ""
    about: str = ""
    icon: str = "command"
    data: Any = None
    waits: bool = False


Source = Callable[[str], Awaitable[Sequence[Completed]]]
"""Returns suggestions for the text after the trigger."""


class Completion(QFrame):
    """``<kind>-popup`` with ``<kind>-list``: a popup over the window, above the composer.

    Args:
        trigger: starts a completed word; ignored inside a word, so that an e-mail address is not taken for a mention.
        source: one search at a time; text typed meanwhile is searched afterwards, the newest only.
        at_start: only for the first word of the text.

    Signals:
        chosen: a ``Completed`` was accepted; its text is in the field, unless it ``waits``.
    """

    chosen = Signal(object)

    def __init__(
        self,
        field: QPlainTextEdit,
        kind: str,
        trigger: str,
        source: Source,
        jobs: Jobs,
        name: Text,
        *,
        at_start: bool = False,
    ) -> None:
        super().__init__(field.window())
        self.setObjectName(f"{kind}-popup")
        mark(self, "card-raised")
        self._field, self._source, self._jobs, self._at_start = field, source, jobs, at_start
        before = r"\A" if at_start else r"(?:^|(?<=[\s(\[\"'«]))"
        self._typed = re.compile(rf"{before}{re.escape(trigger)}([^\s{re.escape(trigger)}]{{0,80}})$")
        self._trigger = trigger
        self._wanted: str | None = None
        self._dismissed: str | None = None
        self.list = bind_text(SearchList(self, kind, nothing=None, pad=5), name=name)
        self.list.chosen.connect(self._insert)
        vbox(self, self.list, margins=(4, 4, 4, 4))
        self._debouncer = Debouncer(self, WAIT_MS, self.search)
        field.installEventFilter(self)
        field.textChanged.connect(self.schedule_search)
        field.cursorPositionChanged.connect(self._on_moved)
        self.hide()

    @property
    def typed(self) -> str | None:
        """The text between the trigger and the cursor; None if there is no trigger."""
        cursor = self._field.textCursor()
        if cursor.hasSelection() or (self._at_start and cursor.blockNumber()):
            return None
        found = self._typed.search(cursor.block().text()[: cursor.positionInBlock()])
        return found[1] if found else None

    def schedule_search(self) -> None:
        """Search after a pause in typing."""
        typed = self.typed
        if typed is None or typed == self._dismissed:
            self._leave()
        else:
            self._dismissed = None
            self._debouncer.start()

    def search(self) -> None:
        """Search for the current text."""
        typed = self.typed
        if typed is not None and self._field.hasFocus():
            self._wanted = typed
            self._jobs.once(("completion", self._trigger), self._search)

    async def _search(self) -> None:
        looked_for: str | None = None
        while self._wanted != looked_for:
            looked_for = self._wanted or ""
            self._show(looked_for, await self._source(looked_for))

    def _show(self, looked_for: str, found: Sequence[Completed]) -> None:
        if self.typed != looked_for or not self._field.hasFocus():
            return
        self.list.fill([("", ((_row(each), each) for each in found))])
        if not found:
            self.hide()
            return
        self._place()
        self.show()
        self.raise_()

    def _place(self) -> None:
        window = self._field.window()
        if self.parentWidget() is not window:
            self.setParent(window)  # the field was created before it got its window
        height = self.list.height_of(ROWS) + 10
        above = self._field.parentWidget() or self._field  # the composer: attachments stay visible
        at = above.mapTo(window, QPoint(0, 0))
        width = min(theme().px(560), above.width())
        self.setGeometry(at.x(), max(4, at.y() - height - 4), width, height)

    def _on_moved(self) -> None:
        if self.isVisible() and self.typed is None:
            self._leave()

    def _leave(self) -> None:
        self._debouncer.stop()
        self.hide()

    def _insert(self, completed: Completed) -> None:
        typed = self.typed
        if typed is not None and not completed.waits:
            cursor = self._field.textCursor()
            cursor.movePosition(
                QTextCursor.MoveOperation.Left, QTextCursor.MoveMode.KeepAnchor, len(typed) + len(self._trigger)
            )
            cursor.insertText(completed.text + " ")
        self._leave()
        self.chosen.emit(completed)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusOut:
            self._leave()
        elif event.type() == QEvent.Type.ShortcutOverride and self.isVisible() and isinstance(event, QKeyEvent):
            if event.key() == Qt.Key.Key_Escape:
                event.accept()  # closing the popup takes precedence over the window's shortcuts
                return True
        elif event.type() == QEvent.Type.KeyPress and self.isVisible() and isinstance(event, QKeyEvent):
            return self._press(event)
        return super().eventFilter(watched, event)

    def _press(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Escape:
            self._dismissed = self.typed
            self._leave()
        elif event.key() == Qt.Key.Key_Tab and not event.modifiers():
            self.list.choose()
        else:
            return self.list.key(event)
        return True


def _row(found: Completed) -> ListRow:
    return ListRow(
        found.title or found.text, name=True, trailing=found.detail, icon=found.icon, tip=found.about or found.detail
    )
