"""The usage table: one row per group and a total."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.desktop.widgets.table_style import style_table
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain.usage import UsageGroup, UsageSum
from atelier_desk.presentation.cost_text import cost_text, saved_text
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.number_format import duration, number, tokens
from atelier_desk.support.visible_and_shortened_text import visible

LEAST_ROWS, MOST_ROWS = 3, 14
"""Minimum and maximum height in rows; more scroll."""
NAME = 130
"""Minimum width of the names, in pixels at 100 %."""
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class UsageTable(QTableWidget):
    """``usage-table``: rounded figures, exact ones in tool tips.

    ``show_groups`` fills it; ``named`` returns a group's label.

    In a narrow window it scrolls sideways; usage and cost come first.
    """

    def __init__(self, named: Callable[[UsageGroup], str], parent: QWidget) -> None:
        super().__init__(0, 7, parent)
        self.setObjectName("usage-table")
        self._named = named
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)
        header.setDefaultAlignment(RIGHT)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        style_table(self)
        bind_text(self, name=N_("Usage"))
        theme().changed.connect(self._fit)

    def show_groups(self, groups: Sequence[UsageGroup], total_usage: UsageSum) -> None:
        """Fill the table with the groups and their total."""
        heads = ("", _("Sent"), _("Cache read"), _("Received"), _("Cost"), _("Requests"), _("Duration"))
        for column, text in enumerate(heads):
            item = QTableWidgetItem(text)
            item.setTextAlignment(RIGHT if column else LEFT)
            self.setHorizontalHeaderItem(column, item)
        rows = [*((self._named(group), group.total) for group in groups), (_("Total"), total_usage)]
        self.setRowCount(len(rows))
        for row, (name, total) in enumerate(rows):
            usage = total.usage
            counts = (usage.tokens_input, usage.tokens_cached, usage.tokens_output)
            texts = [*map(number, counts)]
            texts[1] = " · ".join(filter(None, (texts[1], saved_text(total))))
            rest = (number(total.requests), duration(total.duration_ms) if total.duration_ms else "–")
            exact = (name, *texts, cost_text(total), *rest)
            shown = (name, *map(tokens, counts), cost_text(total, short=True), *rest)
            for column, (text, tip) in enumerate(zip(shown, exact, strict=True)):
                item = QTableWidgetItem(visible(text))
                item.setTextAlignment(RIGHT if column else LEFT)
                item.setToolTip(plain_tip(tip))
                item.setData(Qt.ItemDataRole.AccessibleTextRole, visible(tip))
                self.setItem(row, column, item)
        self._fit()

    def _fit(self) -> None:
        self.horizontalHeader().setMinimumSectionSize(theme().px(48))
        self.verticalHeader().setDefaultSectionSize(theme().px(30))
        for column in range(self.columnCount()):
            if (total := self.item(self.rowCount() - 1, column)) is not None:
                total.setFont(theme().font(13, 600))
        self._widen_names()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._widen_names()

    def _widen_names(self) -> None:
        """Give the names the remaining width, with a minimum, and the rows their height above the scroll bar."""
        header, least, room = self.horizontalHeader(), theme().px(NAME), self.viewport().width()
        figures = range(1, self.columnCount())
        used = sum(max(self.sizeHintForColumn(column), header.sectionSizeHint(column)) for column in figures)
        self.setColumnWidth(0, max(least, room - used))
        rows = min(max(self.rowCount(), LEAST_ROWS), MOST_ROWS)
        bar = self.horizontalScrollBar().sizeHint().height() if least + used > room else 0
        self.setMinimumHeight(header.sizeHint().height() + rows * self.verticalHeader().defaultSectionSize() + bar + 4)
