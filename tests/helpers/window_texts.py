"""All texts of a window: on widgets, in lists and menus, and for screen readers."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QModelIndex, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QGroupBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QWidget,
)

ROLES = (
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.StatusTipRole,
    Qt.ItemDataRole.AccessibleTextRole,
)


def on_screen(*parts: QWidget) -> Iterator[tuple[str, str]]:
    """Each text of each widget in some parts or the complete program, visible or not, with its place.

    Text typed by a person is omitted.
    """
    for top in parts or QApplication.topLevelWidgets():
        for widget in (top, *top.findChildren(QWidget)):
            yield from ((_path_of(widget), text) for text in _texts(widget) if text)


def _texts(widget: QWidget) -> Iterator[str]:
    yield from (
        widget.accessibleName(),
        widget.accessibleDescription(),
        widget.toolTip(),
        widget.statusTip(),
        widget.windowTitle(),
    )
    yield from (part for action in widget.actions() for part in (action.text(), action.toolTip()))
    if isinstance(widget, QLabel | QAbstractButton):
        yield widget.text()
    elif isinstance(widget, QGroupBox):
        yield widget.title()
    elif isinstance(widget, QTextEdit | QPlainTextEdit):
        yield widget.placeholderText()
        yield widget.toPlainText() if widget.isReadOnly() else ""
    elif isinstance(widget, QLineEdit):
        yield widget.placeholderText()
    elif isinstance(widget, QComboBox):
        yield from (widget.itemText(row) for row in range(widget.count()))
    elif isinstance(widget, QTabBar):
        yield from (part for tab in range(widget.count()) for part in (widget.tabText(tab), widget.tabToolTip(tab)))
    elif isinstance(widget, QAbstractItemView) and widget.model() is not None:
        yield from _in_model(widget.model(), QModelIndex())


def _in_model(model: QAbstractItemModel, above: QModelIndex) -> Iterator[str]:
    flat = isinstance(model, QAbstractListModel)  # PySide makes their columnCount private
    for row in range(model.rowCount(above)):
        for column in range(1 if flat else model.columnCount(above)):
            index = model.index(row, column, above)
            yield from (str(index.data(role) or "") for role in ROLES)
            if column == 0 and not flat:
                yield from _in_model(model, index)


def _path_of(widget: QWidget) -> str:
    names: list[str] = []
    current: QWidget | None = widget
    while current is not None and len(names) < 4:
        names.append(
            f"{type(current).__name__}#{current.objectName()}" if current.objectName() else type(current).__name__
        )
        current = current.parentWidget()
    return " < ".join(names)
