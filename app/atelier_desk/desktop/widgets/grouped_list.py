"""A list under headings that a person searches from a field beside it: the command palette, the menus of the pickers."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QKeyEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QListView, QWidget

from atelier_desk.desktop.widgets.steady import OverlayBar

PAGE = 8
"""Lines that Page Up and Page Down go."""


class GroupedList(QListView):
    """Headings cannot be chosen and are passed over. The keyboard stays in the field, which hands its keys on to ``key``."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.rows = QStandardItemModel(self)
        self.setModel(self.rows)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        OverlayBar(self)

    def fill(self, groups: Iterable[tuple[str, Iterable[QStandardItem]]]) -> None:
        """Show these lines under their headings; an empty heading is none. The first line is the current one."""
        self.rows.clear()
        for title, items in groups:
            if title:
                heading = QStandardItem(title)
                heading.setFlags(Qt.ItemFlag.NoItemFlags)
                self.rows.appendRow(heading)
            for item in items:
                item.setEditable(False)
                self.rows.appendRow(item)
        self.go(next(iter(self.lines()), -1))

    def lines(self) -> list[int]:
        """The rows that can be chosen."""
        return [row for row in range(self.rows.rowCount()) if self.is_line(self.rows.index(row, 0))]

    @staticmethod
    def is_line(index: QModelIndex) -> bool:
        """Whether it can be chosen: no heading, and not beside the list."""
        return index.isValid() and bool(index.flags() & Qt.ItemFlag.ItemIsSelectable)

    def go(self, row: int) -> None:
        """Make it the current one, in view; the first with the heading above it."""
        index = self.rows.index(row, 0)
        self.setCurrentIndex(index)
        if row <= 1 and row in self.lines()[:1]:
            self.scrollToTop()
        elif index.isValid():
            self.scrollTo(index)

    def step(self, by: int) -> None:
        """To another line, over headings; a single step goes round."""
        lines, row = self.lines(), self.currentIndex().row()
        if lines:
            place = lines.index(row) + by if row in lines else 0
            self.go(lines[place % len(lines) if abs(by) == 1 else min(max(place, 0), len(lines) - 1)])

    def key(self, event: QKeyEvent) -> bool:
        """Move by a key of the field; whether it was one for the list."""
        moves: dict[int, int] = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: PAGE, Qt.Key.Key_PageUp: -PAGE}
        by = moves.get(event.key())
        if by is not None:
            self.step(by)
        return by is not None
