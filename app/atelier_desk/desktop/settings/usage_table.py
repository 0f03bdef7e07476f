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
from atelier_desk.support.locale_format import duration, number, tokens
from atelier_desk.support.visible_and_shortened_text import visible

LEAST_ROWS, MOST_ROWS = 3, 14
"""Minimum and maximum height in rows; more scroll."""
NAME = 130
"""Minimum width of the names, in pixels at 100 %."""
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LESSER = (1, 6, 4)
"""Columns hidden first if there is no room: requests, time, received. The tool tip of the name has their figures."""
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class UsageTable(QTableWidget):
    """``usage-table``: rounded figures, exact ones in tool tips.

    ``show_groups`` fills it; ``named`` returns a group's label.

    Usage and cost are visible without horizontal scrolling: in a narrow window lesser columns are hidden
    (``LESSER``).
    """

    def __init__(self, named: Callable[[UsageGroup], str], parent: QWidget) -> None:
        super().__init__(0, 7, parent)
        self.setObjectName("usage-table")
        self._named = named
        self._heads: tuple[str, ...] = ()
        self._wanted: dict[int, int] = {}
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
        self._heads = ("", _("Requests"), _("Sent"), _("Cache read"), _("Received"), _("Cost"), _("Duration"))
        for column, text in enumerate(self._heads):
            item = QTableWidgetItem(text)
            item.setTextAlignment(RIGHT if column else LEFT)
            self.setHorizontalHeaderItem(column, item)
        rows = [*((self._named(group), group.total) for group in groups), (_("Total"), total_usage)]
        self.setRowCount(len(rows))
        for row, (name, total) in enumerate(rows):
            usage = total.usage
            counts = (total.requests, usage.tokens_input, usage.tokens_cached, usage.tokens_output)
            texts = [*map(number, counts)]
            texts[2] = " · ".join(filter(None, (texts[2], saved_text(total))))
            exact = (name, *texts, cost_text(total), duration(total.duration_ms) if total.duration_ms else "–")
            shown = (name, number(total.requests), *map(tokens, counts[1:]), cost_text(total, short=True), exact[-1])
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
        for column in LESSER:
            self.setColumnHidden(column, False)  # to be measured again
        rows = min(max(self.rowCount(), LEAST_ROWS), MOST_ROWS)
        self.setMinimumHeight(
            self.horizontalHeader().sizeHint().height() + rows * self.verticalHeader().defaultSectionSize() + 4
        )
        self._widen_names()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._widen_names()

    def _widen_names(self) -> None:
        """Give the names the remaining width, with a minimum."""
        header, least, room = self.horizontalHeader(), theme().px(NAME), self.viewport().width()
        for column in range(1, self.columnCount()):
            if not self.isColumnHidden(column):  # hidden columns report no preferred width
                self._wanted[column] = max(self.sizeHintForColumn(column), header.sectionSizeHint(column))
        used, hidden = sum(self._wanted.values()), set()
        for column in LESSER:
            if least + used > room:
                hidden.add(column)
                used -= self._wanted[column]
        for column in LESSER:
            self.setColumnHidden(column, column in hidden)
        self.setColumnWidth(0, max(least, room - used))
        for row in range(self.rowCount()):
            name = self.item(row, 0)
            if name is not None:
                tip = [name.text(), *(self._figure(row, column) for column in sorted(hidden))]
                name.setToolTip(plain_tip("\n".join(tip)))
                name.setData(Qt.ItemDataRole.AccessibleTextRole, " · ".join(tip))

    def _figure(self, row: int, column: int) -> str:
        item = self.item(row, column)
        return _("{name}: {text}", name=self._heads[column], text=item.toolTip()) if item is not None else ""
