"""The result list of searches: in command palette, pickers, completion, and search windows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets.cards_buttons_labels import label
from atelier_desk.desktop.widgets.language_theme_bindings import Text, bind, control
from atelier_desk.desktop.widgets.list_rows import ListRow, RowDelegate, show_row
from atelier_desk.desktop.widgets.scroll_bar_space import OverlayBar
from atelier_desk.support.i18n import N_

PAGE = 8
"""Rows per Page Up and Page Down."""
_VALUE = Qt.ItemDataRole.UserRole
_MOVES: dict[int, int] = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: PAGE, Qt.Key.Key_PageUp: -PAGE}
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class SearchList(QListView):
    """``<name>-list`` and ``<name>-nothing``, which replaces it while empty.

    Headings cannot be selected and are skipped. The focus stays in the field, whose keys are passed to ``key``.

    Signals:
        chosen: the value of a row, by Enter or click; by double click if a click only selects.
        acted: the value of a row, and the name of the action whose icon was clicked.

    Args:
        field: its keys move in the list while the list is visible.
        nothing: the text in place of an empty list; None if the owner shows one.
        tab: the list can be focused too, as in a window that stays open.
        pad: pixels above and below a row, at 100 %.
    """

    chosen = Signal(object)
    acted = Signal(object, str)

    def __init__(
        self,
        parent: QWidget,
        name: str,
        field: QWidget | None = None,
        *,
        nothing: Text | None = N_("No results"),
        by_click: bool = True,
        tab: bool = False,
        pad: int = 8,
    ) -> None:
        super().__init__(parent)
        self.setObjectName(f"{name}-list")
        mark(self, "plain")
        self.rows = QStandardItemModel(self)
        self.setModel(self.rows)
        self._delegate = RowDelegate(self, pad=pad)
        self.setItemDelegate(self._delegate)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if tab else Qt.FocusPolicy.NoFocus)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumHeight(1)  # the default would be three rows
        OverlayBar(self)
        self._has_empty_text = nothing is not None
        self.nothing = control(label("", "muted", parent, wrap=True), f"{name}-nothing", nothing)
        self.nothing.setMargin(12)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeading)
        self.nothing.hide()
        (self.clicked if by_click else self.doubleClicked).connect(lambda _index: self.choose())
        if field is not None:
            field.installEventFilter(self)
        bind(self.scheduleDelayedItemsLayout)

    def fill(self, groups: Iterable[tuple[str, Iterable[tuple[ListRow, object]]]]) -> None:
        """Show these rows with their values under headings; an empty heading is omitted.

        The first row becomes current.
        """
        self.rows.clear()
        for title, lines in groups:
            if title:
                heading = QStandardItem()
                show_row(heading, ListRow(heading=title))
                heading.setFlags(Qt.ItemFlag.NoItemFlags)
                self.rows.appendRow(heading)
            for row, value in lines:
                item = QStandardItem()
                item.setEditable(False)
                item.setData(value, _VALUE)
                show_row(item, row)
                self.rows.appendRow(item)
        self.select_row(next((row for row in range(self.rows.rowCount()) if self._is_line(row)), -1))
        if self._has_empty_text:
            self.nothing.setVisible(not self.rows.rowCount())
            self.setVisible(self.rows.rowCount() > 0)

    def height_of(self, most: int) -> int:
        """Height in pixels of the rows, at most ``most`` of them."""
        return sum(self.sizeHintForRow(row) for row in range(min(most, self.rows.rowCount()))) + 2 * self.frameWidth()

    @property
    def current(self) -> Any:
        """The value of the current row, None if there is none."""
        return self.value(self.currentIndex())

    @staticmethod
    def value(index: QModelIndex) -> Any:
        """The value of a row, None for a heading or an invalid index."""
        return index.data(_VALUE) if index.isValid() else None

    def lines(self) -> list[int]:
        """The indexes of selectable rows."""
        return list(filter(self._is_line, range(self.rows.rowCount())))

    def _is_line(self, row: int) -> bool:
        return bool(self.rows.index(row, 0).flags() & Qt.ItemFlag.ItemIsSelectable)

    def select_row(self, row: int) -> None:
        """Make a row current and scroll to it; for the first of a group, with its heading."""
        index = self.rows.index(row, 0)
        self.setCurrentIndex(index)
        if not index.isValid():
            return
        if row and not self._is_line(row - 1):
            self.scrollTo(self.rows.index(row - 1, 0))
        self.scrollTo(index)

    def step(self, by: int) -> None:
        """Move to another row, skipping headings; single steps wrap around."""
        lines, row = self.lines(), self.currentIndex().row()
        if lines:
            place = lines.index(row) + by if row in lines else 0
            self.select_row(lines[place % len(lines) if abs(by) == 1 else min(max(place, 0), len(lines) - 1)])

    def choose(self) -> None:
        """Choose the current row."""
        if (value := self.current) is not None:
            self.chosen.emit(value)

    def key(self, event: QKeyEvent) -> bool:
        """Move or choose by a key of the field; returns whether the list handled it."""
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return False
        if event.key() in _MOVES:
            self.step(_MOVES[event.key()])
            return True
        if event.key() in _ENTER and self.current is not None:
            self.choose()
            return True
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self.key(event):
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and not self.isHidden():
            return self.key(event)
        return super().eventFilter(watched, event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        value = self.value(index)
        name = self._delegate.action_at(index, event.position().toPoint()) if value is not None else ""
        if name:
            self.acted.emit(value, name)
        elif value is not None:
            super().mouseReleaseEvent(event)
