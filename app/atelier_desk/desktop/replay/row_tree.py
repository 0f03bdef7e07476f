"""A tree of two-line rows that is updated between moments: only changed rows are touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem, QWidget

from atelier_desk.desktop.panes.two_line_items import KeyRole, style_list
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets.list_rows import ListRow, show_row


@dataclass(frozen=True, slots=True)
class Row:
    """A row and its children."""

    key: str
    title: str
    facts: str
    icon: str
    role: str
    below: tuple[Row, ...] = ()


class _Item(QTreeWidgetItem):
    """The item of a row, with its current content."""

    def __init__(self, row: Row) -> None:
        super().__init__()
        self.setData(0, KeyRole, row.key)
        self.drawn: ListRow | None = None
        self.draw(row)

    def draw(self, row: Row) -> None:
        """Show this row, unless unchanged."""
        target = ListRow(row.title, facts=row.facts, icon=row.icon or None, role=row.role)
        if target != self.drawn:
            self.drawn = target
            show_row(self, target)


class RowTree(QTreeWidget):
    """All rows are expanded."""

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        mark(self, "plain")
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setIndentation(14)
        style_list(self)
        self._by_key: dict[str, _Item] = {}

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show exactly these rows; remaining ones keep their items, so that scroll position and selection stay."""
        self._bring(self.invisibleRootItem(), rows)

    def row_of(self, key: str) -> QTreeWidgetItem | None:
        """The item of a row, None if not listed."""
        return self._by_key.get(key)

    def _bring(self, parent: QTreeWidgetItem, rows: Sequence[Row]) -> None:
        target = {row.key for row in rows}
        for item in _children(parent):
            if item.data(0, KeyRole) not in target:
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
        self._discard(item)
        parent.removeChild(item)

    def _discard(self, item: QTreeWidgetItem) -> None:
        for below in _children(item):
            self._discard(below)
        self._by_key.pop(str(item.data(0, KeyRole)), None)


def _children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    return [child for index in range(item.childCount()) if (child := item.child(index)) is not None]
