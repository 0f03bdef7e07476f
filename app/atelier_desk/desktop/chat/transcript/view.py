"""A virtual scroll area: thousands of items, widgets only for visible ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from atelier_desk.desktop.chat.transcript.item_heights import Heights
from atelier_desk.desktop.chat.transcript.transcript_position import TranscriptPosition
from atelier_desk.desktop.chat.transcript.waiting_indicator import ThinkingLine
from atelier_desk.desktop.questions.approval_card_base import ApprovalFrame
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.theme.design_tokens import CHAT_COLUMN
from atelier_desk.desktop.widgets import IconButton, bind, bind_text, control
from atelier_desk.desktop.widgets.tab_stops import chain, tab_stops
from atelier_desk.presentation.rows.transcript_entries import Entry
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.chat.transcript.transcript_host import Picked, TranscriptHost
    from atelier_desk.presentation.rows.transcript import Transcript

_SIDE = 24
"""Margin beside the column in a narrow window: the composer's, and wider than a scroll bar."""
_FRAME = 10
"""Pixels between a message and its focus frame, within ``_SIDE``."""
_END = 24
_MORE_ABOVE = 1200
"""Pixels from the top at which an older page is requested."""
_HELD = 72
"""Pixels at 100 %: a card of this height can disappear at the end without moving what is under the pointer."""


class EntryWidget(QWidget):
    """Shows one entry.

    Signals:
        height_changed: its height at the same width has changed.
    """

    height_changed = Signal()

    def __init__(self, entry: Entry, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.entry = entry

    def fit(self, width: int) -> int:
        """Lay out for this width; returns the height including the distance to the next entry."""
        raise NotImplementedError

    def refresh(self) -> None:
        """The entry changed."""
        raise NotImplementedError

    def stream(self) -> None:
        """Text was appended to the entry."""
        self.refresh()

    def highlight(self, needle: str) -> int:
        """Highlight search matches; returns their number."""
        return 0

    def reach(self, place: TranscriptPosition) -> int:
        """Show a search match, opening what hides it; returns its distance from the top in pixels."""
        return 0


Factory = Callable[[Entry, QWidget], EntryWidget]


def estimate(entry: Entry) -> int:
    """Estimate the height of an entry that was never laid out, in pixels at 100 %."""
    lines = sum(1 + len(line) // 92 for line in entry.content.split("\n")) if entry.content else 0
    extra = 40 if entry.kind == "user" else 24
    return theme().px(
        lines * 24 + len(entry.calls) * 54 + len(entry.asked) * 80 + extra + (30 if entry.reasoning else 0)
    )


class ChatView(QAbstractScrollArea):
    """Items in a centred column.

    Attributes:
        following: the view scrolls with the growing end; true while it is scrolled to the end.

    Signals:
        older_requested: the user scrolled near the first item.
        following_changed: the new value of ``following``.
        view_resized: the new height of the visible part.
    """

    older_requested = Signal()
    following_changed = Signal(bool)
    view_resized = Signal(int)

    def __init__(self, make: Factory, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._make = make
        self._entries: list[Entry] = []
        self._index: dict[Entry, int] = {}
        self._shift = 0
        self._heights = Heights()
        self._widgets: dict[Entry, EntryWidget] = {}
        self._dirty: set[Entry] = set()
        self._measured_width = 0
        self._placed: tuple[int, int] | None = None
        self._blank = 0
        self._needle = ""
        self._busy = False
        self.following = True
        self.setObjectName("chat-view")
        mark(self, "surface")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setAutoFillBackground(False)
        self.jump = control(
            IconButton("arrow-down", parent=self, role="text"),
            "jump-to-latest",
            look="jump",
            tip=N_("Jump to latest"),
            on=self.scroll_to_end,
        )
        self.jump.hide()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._place)
        self.verticalScrollBar().valueChanged.connect(self._on_value)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._on_focus_moved)
        self._thinking = ThinkingLine(self.viewport())
        self._thinking.shown_changed.connect(self._later)
        bind_text(self, name=N_("Messages in the workflow"))
        bind(self._measure_again)

    @property
    def entries(self) -> Sequence[Entry]:
        return self._entries

    def set_entries(self, entries: Iterable[Entry]) -> None:
        """Show another transcript, scrolled to its end."""
        removed = list(self._widgets.values())
        self._widgets.clear()
        self._dirty.clear()
        self._entries = list(entries)
        self._shift = 0
        self._index = {entry: i for i, entry in enumerate(self._entries)}
        self._heights = Heights([estimate(entry) for entry in self._entries])
        self._drop(removed)
        self._placed = None
        self._set_following(True)
        self._place()

    def append(self, entry: Entry) -> None:
        """Append an item."""
        self._index[entry] = len(self._entries) - self._shift
        self._entries.append(entry)
        self._heights.append(estimate(entry))
        self._later()

    def truncate(self, count: int) -> None:
        """Remove the items after the first ``count``; the others keep their widgets."""
        removed = self._entries[count:]
        if not removed:
            return
        for entry in removed:
            del self._index[entry]
            self._dirty.discard(entry)
        del self._entries[count:]
        self._heights = Heights([self._heights[index] for index in range(count)])
        self._drop([self._widgets.pop(entry) for entry in removed if entry in self._widgets])
        self._later()

    def remove(self, entry: Entry) -> None:
        """Remove an item; if it is the last one, as usual, the others keep their widgets."""
        if self._entries and self._entries[-1] is entry:
            self.truncate(len(self._entries) - 1)
        elif entry in self._index:
            self.set_entries([each for each in self._entries if each is not entry])

    def prepend(self, entries: Sequence[Entry]) -> None:
        """Insert older items at the front; the visible part does not move."""
        if not entries:
            return
        guesses = [estimate(entry) for entry in entries]
        self._entries[:0] = entries
        self._shift += len(entries)
        for number, entry in enumerate(entries):
            self._index[entry] = number - self._shift
        self._heights.insert_front(guesses)
        bar = self.verticalScrollBar()
        self._busy = True
        bar.setRange(0, self._range_end())
        bar.setValue(bar.value() + sum(guesses))
        self._busy = False
        self._place()

    def update_entry(self, entry: Entry, *, streamed: bool = False) -> None:
        """The entry changed; notify its widget, if it has one."""
        widget = self._widgets.get(entry)
        if widget is None:
            if entry in self._index:
                self._heights[self._position(entry)] = estimate(entry)
                self._later()
            return
        if streamed:
            widget.stream()
        else:
            widget.refresh()
            self._mark_dirty(entry)

    def widget_of(self, entry: Entry) -> EntryWidget | None:
        """The widget of an entry, None if it is out of view."""
        return self._widgets.get(entry)

    def show_thinking(self, transcript: Transcript | None, host: TranscriptHost) -> None:
        """Show below the last item that a model is awaited, or that its reply has stalled."""
        if transcript is None:
            self._thinking.show_since(0.0)
            return

        def model() -> str:
            said = (each for each in self.entries[-20:] if each.run_id == transcript.live_run and each.model)
            by: Entry | Picked = next(said, host.picked)
            return host.model_name(by.provider, by.model)

        self._thinking.show_since(transcript.waits_since, transcript.silent_since, model)

    def scroll_to_end(self) -> None:
        self._set_following(True)
        self._place()

    def stay(self) -> None:
        """Follow the end no longer if what the user opened moved it out of view; what was clicked stays in place."""
        self._set_following(False)
        self._place()
        self._on_value(self.verticalScrollBar().value())

    def reveal(self, entry: Entry) -> None:
        """Scroll an entry into the upper third of the view."""
        if entry not in self._index:
            return
        self._set_following(False)
        bar = self.verticalScrollBar()
        for _attempt in range(2):  # the second time with the heights measured by the first
            bar.setValue(self._heights.offset(self._position(entry)) - self.viewport().height() // 4)
            self._place()

    def reach(self, entry: Entry, place: TranscriptPosition) -> None:
        """Scroll a position inside an entry into the upper third of the view."""
        self.reveal(entry)
        self.set_needle(self._needle)  # the previous current match is highlighted like the others again
        bar = self.verticalScrollBar()
        for _attempt in range(2):  # the second time with what the first opened
            widget = self._widgets.get(entry)
            if widget is None:
                return
            below = widget.reach(place)
            self._dirty.add(entry)
            bar.setValue(self._heights.offset(self._position(entry)) + below - self.viewport().height() // 3)
            self._place()

    def set_needle(self, needle: str) -> None:
        """Highlight matches of ``needle`` in current and future widgets."""
        self._needle = needle
        for widget in self._widgets.values():
            widget.highlight(needle)

    def column_width(self) -> int:
        # Of the full width: a scroll bar fits into the margin and moves nothing.
        return max(160, min(theme().px(CHAT_COLUMN), self.width() - 2 * _SIDE))

    @property
    def _end(self) -> int:
        """Pixels below the last item."""
        return _END + self._blank + (0 if self._thinking.isHidden() else self._thinking.sizeHint().height())

    def _position(self, entry: Entry) -> int:
        return self._index[entry] + self._shift

    def _range_end(self) -> int:
        return max(0, self._heights.total + self._end - self.viewport().height())

    def _later(self) -> None:
        if not self._timer.isActive():
            self._timer.start(0)

    def _mark_dirty(self, entry: Entry) -> None:
        self._dirty.add(entry)
        self._later()

    def _place(self) -> None:
        """Create, measure and position visible widgets; remove those far from the view."""
        self._timer.stop()
        if self._busy or not self.isVisible():
            return
        self._busy = True
        try:
            width = self.column_width()
            if width != self._measured_width:
                self._measured_width = width
                self._dirty.update(self._widgets)
            view_height = self.viewport().height()
            bar = self.verticalScrollBar()
            anchor = self._heights.find(bar.value())
            within = bar.value() - self._heights.offset(anchor)
            hold = self._placed == (width, view_height) and self.viewport().underMouse()
            self._placed, self._blank = (width, view_height), 0
            if self.following:
                top = max(0, self._measure_from_end(width, view_height))
                held = self._heights.offset(anchor) + within
                if hold and top < held <= top + theme().px(_HELD):
                    self._blank, top = held - top, held
            else:
                top = self._measure_from_anchor(bar.value(), width, view_height)
                if top > self._range_end():  # what the user opened was closed, or disappeared
                    self._set_following(True)
            bar.setPageStep(view_height)
            bar.setSingleStep(theme().px(24))
            bar.setRange(0, self._range_end())
            top = max(0, min(top, self._range_end()))
            bar.setValue(top)
            self._move_widgets(top, width, view_height)
        finally:
            self._busy = False
        self.jump.setVisible(not self.following and self._range_end() > 0 and not self._approval_below_jump())
        if bar.value() < _MORE_ABOVE and self._entries and not (self.following and self._range_end() > _MORE_ABOVE):
            self.older_requested.emit()

    def _approval_below_jump(self) -> bool:
        """Whether the button to the end would cover part of an approval, such as “Reject”."""
        area = self.jump.geometry()
        for corner in (area.topLeft(), area.bottomLeft()):
            above = self.viewport().childAt(self.viewport().mapFrom(self, corner))
            while above is not None:
                if isinstance(above, ApprovalFrame):
                    return True
                above = above.parentWidget()
        return False

    def _measure_from_end(self, width: int, view_height: int) -> int:
        index = len(self._entries) - 1
        filled = self._end
        while index >= 0 and filled < view_height + 120:
            filled += self._measure(index, width)
            index -= 1
        return self._heights.total + self._end - view_height

    def _measure_from_anchor(self, value: int, width: int, view_height: int) -> int:
        anchor = self._heights.find(value)
        within = value - self._heights.offset(anchor)
        index, y = anchor, -within
        while index < len(self._entries) and y < view_height + 120:
            y += self._measure(index, width)
            index += 1
        within = min(within, self._heights[anchor]) if self._entries else 0
        return self._heights.offset(anchor) + within

    def _measure(self, index: int, width: int) -> int:
        entry = self._entries[index]
        widget = self._widgets.get(entry)
        if widget is None:
            widget = self._make(entry, self.viewport())
            widget.height_changed.connect(lambda entry=entry: self._mark_dirty(entry))
            self._widgets[entry] = widget
            if self._needle:
                widget.highlight(self._needle)
            self._dirty.add(entry)
        if entry in self._dirty:
            self._dirty.discard(entry)
            self._heights[index] = widget.fit(width)
            self._dirty.discard(entry)
        return self._heights[index]

    def _move_widgets(self, top: int, width: int, view_height: int) -> None:
        left = (self.width() - width) // 2
        self._thinking.setGeometry(left, self._heights.total - top, width, self._thinking.sizeHint().height())
        far: list[Entry] = []
        for entry, widget in self._widgets.items():
            index = self._position(entry)
            y = self._heights.offset(index) - top
            height = self._heights[index]
            needed = entry.live or widget.isAncestorOf(QApplication.focusWidget() or self)
            if (y + height < -2 * view_height or y > 3 * view_height) and not needed:
                far.append(entry)
                continue
            widget.setGeometry(left, y, width, height)
            widget.setVisible(y + height > -120 and y < view_height + 120)
        if self._focused() is not None:
            self.viewport().update()
        for entry in far:
            self._dirty.discard(entry)
            self._dispose(self._widgets.pop(entry))

    def _drop(self, widgets: list[EntryWidget]) -> None:
        """Remove widgets whose items were removed; layout is suspended meanwhile.

        If one of them had the focus, hiding it would move the focus to the next one, which would be scrolled into
        view.
        """
        busy, self._busy = self._busy, True
        try:
            for widget in widgets:
                self._dispose(widget)
        finally:
            self._busy = busy

    @staticmethod
    def _dispose(widget: EntryWidget) -> None:
        widget.hide()  # removing the parent would apply the style sheet to it and all children again
        widget.deleteLater()

    def order_stops(self) -> None:
        """Set the tab order: this view, its messages from top to bottom, then what follows."""
        widgets = [self._widgets[entry] for entry in sorted(self._widgets, key=self._position)]
        chain(self, (stop for widget in widgets for stop in (widget, *tab_stops(widget))))

    def _on_value(self, value: int) -> None:
        if self._busy:
            return
        self._set_following(value >= self._range_end() - self._blank - 4)
        self._place()

    def _set_following(self, on: bool) -> None:
        if on != self.following:
            self.following = on
            self.following_changed.emit(on)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Empty: widgets are moved when the value changes."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        side = self.jump.sizeHint()
        self.jump.setGeometry(
            (self.width() - side.width()) // 2, self.height() - side.height() - 10, side.width(), side.height()
        )
        self.jump.raise_()
        self.view_resized.emit(self.viewport().height())
        self._place()

    def _measure_again(self) -> None:
        self._dirty.update(self._widgets)
        self._later()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self._later()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        bar = self.verticalScrollBar()
        if event.key() == Qt.Key.Key_Home:
            bar.setValue(0)
        elif event.key() == Qt.Key.Key_End:
            self.scroll_to_end()
        else:
            super().keyPressEvent(event)

    def _focused(self) -> EntryWidget | None:
        """The message that has the focus itself."""
        widget = QApplication.focusWidget()
        return widget if isinstance(widget, EntryWidget) and widget.parentWidget() is self.viewport() else None

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the focus frame around a message: outside its text, which begins at the edge."""
        widget = self._focused()
        if widget is None:
            return
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme().colour("accent"), 1.2))
        painter.drawRoundedRect(widget.geometry().adjusted(-_FRAME, 0, _FRAME, -6), 8, 8)
        painter.end()

    def _on_focus_moved(self, old: QWidget | None, new: QWidget | None) -> None:
        """Scroll a partly hidden item into view when it gets the focus."""
        if isinstance(old, EntryWidget) or isinstance(new, EntryWidget):
            self.viewport().update()
        if new is None or new is self.viewport() or not self.viewport().isAncestorOf(new):
            return
        if not new.focusPolicy() & Qt.FocusPolicy.TabFocus:  # text that was clicked stays in place
            return
        top = new.mapTo(self.viewport(), QPoint(0, 0)).y()
        bottom = top + new.height()
        bar = self.verticalScrollBar()
        if top < 0:
            bar.setValue(bar.value() + top - 12)
        elif bottom > self.viewport().height() and new.height() < self.viewport().height():
            bar.setValue(bar.value() + bottom - self.viewport().height() + 12)
