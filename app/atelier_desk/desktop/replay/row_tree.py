"""A tree of two-line rows that is brought from one moment to the next: only rows that differ are touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QTreeWidget, QTreeWidgetItem, QWidget

from atelier_desk.desktop.panes.two_line import FactsRole, IconRole, KeyRole, TwoLineDelegate
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets.steady import OverlayBar
from atelier_desk.desktop.widgets.words import bind
from atelier_desk.domain.text import visible


@dataclass(frozen=True, slots=True)
class Row:
    """What one row shows, and the rows below it."""

    key: str
    title: str
    facts: str
    icon: str
    role: str
    below: tuple[Row, ...] = ()


class _Item(QTreeWidgetItem):
    """The item of a row; it knows what it shows."""

    def __init__(self, row: Row) -> None:
        super().__init__([row.title])
        self.setData(0, KeyRole, row.key)
        self.drawn: tuple[str, str, str, str] | None = None
        self.draw(row)

    def draw(self, row: Row) -> None:
        """Show this row, unless it looks the same."""
        wanted = (row.title, row.facts, row.icon, row.role)
        if wanted == self.drawn:
            return
        self.drawn = wanted
        title, facts = visible(row.title), visible(row.facts)
        self.setText(0, title)
        self.setData(0, FactsRole, facts)
        self.setData(0, IconRole, (row.icon, row.role))
        self.setData(0, Qt.ItemDataRole.AccessibleTextRole, f"{title}, {facts}" if facts else title)
        self.setToolTip(0, "\n".join(filter(None, (title, facts))))


class RowTree(QTreeWidget):
    """All rows are open."""

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        OverlayBar(self)
        self.setObjectName(name)
        mark(self, "plain")
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setIndentation(14)
        self.setItemDelegate(TwoLineDelegate(self))
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        bind(self.scheduleDelayedItemsLayout)
        self._by_key: dict[str, _Item] = {}

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show exactly these; rows that stay keep their items, and with them the place of the reader and the choice."""
        self._bring(self.invisibleRootItem(), rows)

    def row_of(self, key: str) -> QTreeWidgetItem | None:
        """The item of a row, None when it is not listed."""
        return self._by_key.get(key)

    def _bring(self, parent: QTreeWidgetItem, rows: Sequence[Row]) -> None:
        wanted = {row.key for row in rows}
        for item in _children(parent):
            if item.data(0, KeyRole) not in wanted:
                self._drop(parent, item)
        for index, row in enumerate(rows):
            known = self._by_key.get(row.key)
            if known is None or parent.indexOfChild(known) != index:
                if known is not None:
                    self._drop(known.parent() or self.invisibleRootItem(), known)
                known = self._by_key[row.key] = _Item(row)
                parent.insertChild(index, known)
            known.draw(row)
            grown = known.childCount() < len(row.below)
            self._bring(known, row.below)
            if grown:
                known.setExpanded(True)

    def _drop(self, parent: QTreeWidgetItem, item: QTreeWidgetItem) -> None:
        self._forget(item)
        parent.removeChild(item)

    def _forget(self, item: QTreeWidgetItem) -> None:
        for below in _children(item):
            self._forget(below)
        self._by_key.pop(str(item.data(0, KeyRole)), None)


def _children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    return [child for index in range(item.childCount()) if (child := item.child(index)) is not None]
