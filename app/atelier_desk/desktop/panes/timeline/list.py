"""The timeline as a list: its spans in the order they began, for keyboard and screen readers."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from atelier_desk.desktop.panes.context_menu_position import menu_place
from atelier_desk.desktop.panes.timeline.lanes_bars_and_scene import span_key, span_style
from atelier_desk.desktop.panes.timeline.view import describe_span
from atelier_desk.desktop.panes.two_line_items import KeyRole, style_list
from atelier_desk.desktop.replay.span_and_event_titles import span_title
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets import bind, bind_text
from atelier_desk.desktop.widgets.list_rows import ListRow, show_row
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.engine.services.team.agent_tree_and_timeline_types import Span, Timeline, TimelineRun

_ICONS: dict[str, tuple[str, Role]] = {
    "model": ("sparkles", "accent"),
    "tool": ("terminal", "ok"),
    "wait": ("clock", "warn"),
    "paused": ("pause", "muted"),
}


class TimelineList(QListWidget):
    """``timeline-list``.

    Signals:
        span_chosen: the span of the current row.
        menu_requested: the context menu of the current row, at this global position.
        span_activated: Enter or a double click.
    """

    span_chosen = Signal(object)
    menu_requested = Signal(QPoint)
    span_activated = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("timeline-list")
        mark(self, "plain")
        style_list(self)
        self._timeline: Timeline | None = None
        self._now: datetime | None = None
        self._spans: list[Span] = []
        self.currentRowChanged.connect(self._on_row)
        self.itemActivated.connect(lambda item: self.span_activated.emit(self._spans[item.data(KeyRole)]))
        bind_text(self, name=N_("Timeline as a list"))
        bind(self._write_all, on="language")

    def show_timeline(self, timeline: Timeline | None, now: datetime) -> None:
        """List the spans; the current one stays current, and rows of completed spans are not touched."""
        self._timeline, self._now = timeline, now
        current = self.current()
        rows = [(run, span) for run in timeline.runs for span in run.spans] if timeline is not None else []
        rows.sort(key=lambda row: (row[1].start, row[1].seq))
        known = self._spans
        same = 0
        while same < min(len(known), len(rows)) and span_key(known[same]) == span_key(rows[same][1]):
            same += 1
        self.blockSignals(True)
        for number in range(same):
            if known[number] != rows[number][1] or known[number].end is None:
                self._write(self.item(number), number, *rows[number], timeline, now)
        while self.count() > same:
            self.takeItem(self.count() - 1)
        for number in range(same, len(rows)):
            self._write(QListWidgetItem(self), number, *rows[number], timeline, now)
        self._spans = [span for _run, span in rows]
        self.blockSignals(False)
        self.choose(current)

    @staticmethod
    def _write(
        item: QListWidgetItem, number: int, run: TimelineRun, span: Span, timeline: Timeline | None, now: datetime
    ) -> None:
        """Set a row's texts."""
        icon, role = _ICONS[span.kind]
        name, _title, *facts = describe_span(run, span, timeline, now)
        item.setData(KeyRole, number)
        role = "err" if span_style(span) == "failed" else role
        show_row(item, ListRow(f"{name} · {span_title(span)}", facts=" · ".join(facts), icon=icon, role=role))

    def current(self) -> Span | None:
        row = self.currentRow()
        return self._spans[row] if 0 <= row < len(self._spans) else None

    def choose(self, span: Span | None) -> None:
        """Make this span's row current, without a signal."""
        self.blockSignals(True)
        selected = span_key(span) if span is not None else None
        rows = (number for number, each in enumerate(self._spans) if span_key(each) == selected)
        self.setCurrentRow(next(rows, -1))
        self.blockSignals(False)

    def _on_row(self, row: int) -> None:
        if 0 <= row < len(self._spans):
            self.span_chosen.emit(self._spans[row])

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        place = menu_place(self, event)
        if place is not None:
            self.menu_requested.emit(place)

    def _write_all(self) -> None:
        if self._timeline is not None and self._now is not None:
            runs = {run.run_id: run for run in self._timeline.runs}
            for number, span in enumerate(self._spans):
                self._write(self.item(number), number, runs[span.run_id], span, self._timeline, self._now)
