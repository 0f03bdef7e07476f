"""Accessibility of a window: every control, its accessible name, and its keyboard access."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QContextMenuEvent, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDockWidget,
    QHeaderView,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QScrollBar,
    QSplitterHandle,
    QStackedWidget,
    QTabBar,
    QTextEdit,
    QWidget,
)

CONTROLS = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
)


def controls(root: QWidget) -> Iterator[QWidget]:
    """All controls a person can use in a window, on every page, without parts of Qt's own controls."""
    for widget in (root, *root.findChildren(QWidget)):
        plain = isinstance(widget, CONTROLS) and not isinstance(widget, QHeaderView | QScrollBar) and not _inner(widget)
        if plain and _can_be_shown(widget, root):
            yield widget


def _can_be_shown(widget: QWidget, root: QWidget) -> bool:
    """Whether a widget is shown, or would be on another page or pane."""
    current: QWidget | None = widget
    while current is not None and current is not root:
        above = current.parentWidget()
        if current.isHidden() and not isinstance(current, QDockWidget) and not isinstance(above, QStackedWidget):
            return False
        current = above
    return True


def _inner(widget: QWidget) -> bool:
    """Whether a widget is part of a Qt control: field and list of a combo box, field of a spin box, clear
    button."""
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, QComboBox | QAbstractSpinBox | QLineEdit | QTabBar | QHeaderView):
            return True
        parent = parent.parentWidget()
    return widget.objectName().startswith("qt_") or isinstance(widget, QSplitterHandle) or _is_corner_button(widget)


def _is_corner_button(widget: QWidget) -> bool:
    parent = widget.parentWidget()
    return type(widget).__name__ == "QTableCornerButton" or (
        isinstance(parent, QAbstractItemView) and type(widget) is QAbstractButton
    )


def name_of(widget: QWidget) -> str:
    """The name a screen reader announces."""
    face = QAccessible.queryAccessibleInterface(widget)
    text = str(face.text(QAccessible.Text.Name)) if face is not None else ""
    return text.strip() or widget.accessibleName().strip()


def reached(widget: QWidget) -> bool:
    """Whether Tab reaches it, or a shortcut does the same."""
    if widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
        return True
    if isinstance(widget, QTextEdit | QPlainTextEdit) and widget.isReadOnly() and _in_focusable_widget(widget):
        return True
    if isinstance(widget, QAbstractButton) and not widget.shortcut().isEmpty():
        return True
    return any(each.parent() is widget for each in widget.findChildren(QShortcut))


def _in_focusable_widget(text: QWidget) -> bool:
    """Whether it is text of a focusable widget: a message whose name contains it and whose menu copies it."""
    above = text.parentWidget()
    while above is not None:
        if above.focusPolicy() & Qt.FocusPolicy.TabFocus and name_of(above):
            return True
        above = above.parentWidget()
    return False


def path(widget: QWidget) -> str:
    """The widget's path, for messages of failed tests."""
    parts = []
    current: QWidget | None = widget
    while current is not None:
        parts.append(f"{type(current).__name__}{'#' + current.objectName() if current.objectName() else ''}")
        current = current.parentWidget()
    return " < ".join(parts[:5])


def nameless(root: QWidget) -> list[str]:
    return [path(each) for each in controls(root) if not name_of(each)]


def out_of_reach(root: QWidget) -> list[str]:
    return [f"{name_of(each)!r} {path(each)}" for each in controls(root) if each.isEnabled() and not reached(each)]


def ask_for_menu(widget: QWidget) -> None:
    """Press the menu key in a widget."""
    widget.setFocus()
    current = widget.rect().center()
    QApplication.sendEvent(
        widget, QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, current, widget.mapToGlobal(current))
    )


def open_menu(within: QWidget) -> QMenu:
    """The only open menu."""
    found = [menu for menu in within.findChildren(QMenu) if menu.isVisible()]
    assert len(found) == 1, [path(within)] + [menu.objectName() for menu in found]
    return found[0]


def menu_faults(menu: QMenu) -> list[str]:
    """Accessibility problems of an open menu and its submenus; closes it at the end."""
    entries = [each for each in menu.actions() if each.isVisible() and not each.isSeparator()]
    faults = [f"nothing in {path(menu)}"] if not entries else []
    faults += [
        f"{path(menu)}: an entry without words ({each.objectName()})" for each in entries if not each.text().strip()
    ]
    met = {menu.activeAction()}
    for _entry in entries:
        QTest.keyClick(menu, Qt.Key.Key_Down)
        met.add(menu.activeAction())
    faults += [
        f"{path(menu)}: Down never comes to {each.text()!r}" for each in entries if each.isEnabled() and each not in met
    ]
    inner = [below for each in entries if isinstance(below := each.menu(), QMenu) and each.isEnabled()]
    menu.hide()
    for below in inner:
        below.popup(QPoint())
        faults += menu_faults(below)
    return faults
