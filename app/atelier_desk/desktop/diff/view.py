"""The diff view, inline or side by side, used by the files pane and every card with a change."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Literal
from weakref import ref

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from atelier_desk.desktop.chat.markdown.syntax_highlighter import SLICE_S, colour_of, with_lexer
from atelier_desk.desktop.chat.markdown.word_diff import changed_text
from atelier_desk.desktop.diff.diff_text import DiffText, Span
from atelier_desk.desktop.diff.unified_diff_parser import Row, blocks, rows, sides
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Line, bind, bind_text, hbox
from atelier_desk.support.i18n import N_

Mode = Literal["inline", "side"]
NARROW = 560
"""Width in logical pixels at 100 % below which one column is shown, whatever was selected."""


class DiffView(QWidget):
    """``diff-view``: one diff.

    ``show_diff`` sets the text, ``set_mode`` the layout. In a pane it scrolls by itself; with ``scrolls=False``, for
    cards, it is as high as its text: call ``fit`` with the width, and again after ``height_changed``. F7 and Shift+F7
    go from change to change.

    Signals:
        height_changed: call ``fit`` again.
    """

    height_changed = Signal()

    def __init__(self, parent: QWidget | None = None, *, scrolls: bool = True) -> None:
        super().__init__(parent)
        self.setObjectName("diff-view")
        self._rows: list[Row] = []
        self._language = ""
        self._lexer: Any = None
        self._mode: Mode = "inline"
        self._side = False
        self._syntax: dict[int, list[Span]] = {}
        self._marks: dict[int, list[Span]] = {}
        self._work: Iterator[int] | None = None
        self.inline = DiffText(("old", "new"), self, scrolls=scrolls)
        self.left = DiffText(("old",), self, scrolls=scrolls)
        self.right = DiffText(("new",), self, scrolls=scrolls)
        # The right one's scroll bar moves both.
        self.left.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._between = Line(self, vertical=True)
        hbox(
            self,
            (self.inline, 1),
            (self.left, 1),
            self._between,
            (self.right, 1),
            spacing=0,
        )
        for one, other in ((self.left, self.right), (self.right, self.left)):
            one.verticalScrollBar().valueChanged.connect(other.verticalScrollBar().setValue)
            one.horizontalScrollBar().valueChanged.connect(other.horizontalScrollBar().setValue)
        self.setFocusProxy(self.inline)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._step)
        for keys, step in (("F7", 1), ("Shift+F7", -1)):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(lambda step=step: self.go(step))
        bind(self._on_theme, on="look")
        self._lay_out()
        bind_text(self.inline, name=N_("Changes"))
        bind_text(self.left, name=N_("Before"))
        bind_text(self.right, name=N_("After"))
        bind(self._write, on="language")

    def show_diff(self, diff: str, path: str = "") -> None:
        """Show a unified diff; the file's name selects the syntax highlighting."""
        self._rows = rows(diff)
        self._syntax, self._marks = {}, {}
        self._language = f"file:{path.rstrip('/').rpartition('/')[2]}" if path else ""
        self._lexer = None
        self._fill()
        self._decorate()
        if self._language:
            me = ref(self)
            language = self._language

            def loaded(lexer: object) -> None:
                view = me()
                if view is not None and isValid(view) and view._language == language and lexer is not None:
                    view._lexer = lexer
                    view._decorate()

            with_lexer(language, loaded)

    @property
    def text(self) -> str:
        """The text of the single column, or of the right side."""
        return (self.right if self._side else self.inline).toPlainText()

    @property
    def mode(self) -> Mode:
        """The selected mode; a narrow view shows one column regardless."""
        return self._mode

    def set_mode(self, mode: Mode) -> None:
        """Select inline or side by side."""
        self._mode = mode
        self._lay_out()

    @property
    def busy(self) -> bool:
        """Whether highlighting is still in progress."""
        return self._work is not None

    def go(self, step: int) -> None:
        """Go to the next (1) or previous change (-1)."""
        text = self.right if self._side else self.inline
        starts = [
            number
            for number in range(len(text.places))
            if self._changed(text, number) and (number == 0 or not self._changed(text, number - 1))
        ]
        here = text.textCursor().blockNumber()
        later = (
            [number for number in starts if number > here]
            if step > 0
            else [number for number in reversed(starts) if number < here]
        )
        if later or starts:
            text.scroll_to(later[0] if later else starts[0 if step > 0 else -1])

    def fit(self, width: int) -> int:
        """Lay out for this width, as high as the text; returns the height."""
        self.setFixedWidth(width)
        self._lay_out(width)
        shown = [self.left, self.right] if self._side else [self.inline]
        height = max(text.text_height for text in shown)
        self.setFixedHeight(height)
        return height

    def _write(self) -> None:
        self._fill()
        self._colour_all()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def _lay_out(self, width: int | None = None) -> None:
        side = self._mode == "side" and (width or self.width()) >= theme().px(NARROW)
        self.inline.setVisible(not side)
        for part in (self.left, self.right, self._between):
            part.setVisible(side)
        self.setFocusProxy(self.right if side else self.inline)
        if side != self._side:
            self._side = side
            self.height_changed.emit()

    def _fill(self) -> None:
        left, right = sides(self._rows)
        for text, places in ((self.inline, list(range(len(self._rows)))), (self.left, left), (self.right, right)):
            with QSignalBlocker(text.verticalScrollBar()):
                text.show_rows(self._rows, places)
        self.height_changed.emit()

    def _changed(self, text: DiffText, number: int) -> bool:
        place = text.places[number]
        return place < 0 or self._rows[place].kind in ("added", "removed")

    def _decorate(self) -> None:
        self._work = self._worked_out()
        self._timer.start(0)

    def _step(self) -> None:
        """Highlight in time slices, so that a long diff never blocks the window."""
        until = time.perf_counter() + SLICE_S
        while self._work is not None and time.perf_counter() < until:
            place = next(self._work, None)
            if place is None:
                self._work = None
                self._timer.stop()
                self._colour_all()

    def _worked_out(self) -> Iterator[int]:
        tokens = theme().tokens
        for removed, added in blocks(self._rows):
            for before, after in zip(removed, added, strict=False):
                old, new = changed_text(f"-{self._rows[before].text}", f"+{self._rows[after].text}")
                self._marks[before] = [(first - 1, last - 1, tokens.err_strong) for first, last in old]
                self._marks[after] = [(first - 1, last - 1, tokens.ok_strong) for first, last in new]
                yield before
        if self._lexer is None:
            return
        # Each side is lexed as a text of its own; unchanged lines take their colours from the new one.
        for kinds in (("", "removed"), ("", "added")):
            places = [place for place, row in enumerate(self._rows) if row.kind in kinds]
            spans: list[Span] = []
            line = column = 0
            for _start, kind, value in self._lexer.get_tokens_unprocessed(
                "\n".join(self._rows[place].text for place in places)
            ):
                colour = colour_of(kind, tokens)
                for number, part in enumerate(value.split("\n")):
                    if number:
                        if line < len(places):
                            self._syntax[places[line]] = spans
                            yield places[line]
                        line, column, spans = line + 1, 0, []
                    if part and colour:
                        spans.append((column, column + len(part), colour))
                    column += len(part)
            if line < len(places):
                self._syntax[places[line]] = spans

    def _colour_all(self) -> None:
        tokens = theme().tokens
        # On the backgrounds of changed lines these two would be too faint to read.
        grounded = {tokens.muted: tokens.text, tokens.ok: tokens.ok_text}
        for text in (self.inline, self.left, self.right):
            for number, place in enumerate(text.places):
                if place < 0:
                    continue
                row = self._rows[place]
                if row.kind in ("hunk", "note"):
                    text.colour(
                        number, [(0, len(text.document().findBlockByNumber(number).text()), tokens.muted_text)], ()
                    )
                elif place in self._syntax or place in self._marks:
                    syntax = self._syntax.get(place, [])
                    if row.kind:
                        syntax = [(first, last, grounded.get(colour, colour)) for first, last, colour in syntax]
                    text.colour(number, syntax, self._marks.get(place, ()))

    def _on_theme(self) -> None:
        for text in (self.inline, self.left, self.right):
            text.apply_style()
        self._decorate()
        self.height_changed.emit()
