"""What a person without eyes or without a pointer meets: every control of a window, its name, and how the keyboard reaches it."""

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
    """What a person can work with in a window as it is now, on every page; not the parts Qt's own controls are made of."""
    for widget in (root, *root.findChildren(QWidget)):
        plain = isinstance(widget, CONTROLS) and not isinstance(widget, QHeaderView | QScrollBar) and not _part(widget)
        if plain and _there(widget, root):
            yield widget


def _there(widget: QWidget, root: QWidget) -> bool:
    """Whether it is shown, or would be on another page or in another pane."""
    at: QWidget | None = widget
    while at is not None and at is not root:
        above = at.parentWidget()
        if at.isHidden() and not isinstance(at, QDockWidget) and not isinstance(above, QStackedWidget):
            return False
        at = above
    return True


def _part(widget: QWidget) -> bool:
    """Qt's own parts: the field and the list in a combo box, the field in a spin box, the button that clears a field."""
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, QComboBox | QAbstractSpinBox | QLineEdit | QTabBar | QHeaderView):
            return True
        parent = parent.parentWidget()
    return widget.objectName().startswith("qt_") or isinstance(widget, QSplitterHandle) or _corner(widget)


def _corner(widget: QWidget) -> bool:
    parent = widget.parentWidget()
    return type(widget).__name__ == "QTableCornerButton" or (isinstance(parent, QAbstractItemView) and type(widget) is QAbstractButton)


def name_of(widget: QWidget) -> str:
    """What a screen reader calls it."""
    face = QAccessible.queryAccessibleInterface(widget)
    said = str(face.text(QAccessible.Text.Name)) if face is not None else ""
    return said.strip() or widget.accessibleName().strip()


def reached(widget: QWidget) -> bool:
    """Whether Tab comes to it, or a key of its own does what it does."""
    if widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
        return True
    if isinstance(widget, QTextEdit | QPlainTextEdit) and widget.isReadOnly() and _in_a_stop(widget):
        return True
    if isinstance(widget, QAbstractButton) and not widget.shortcut().isEmpty():
        return True
    return any(each.parent() is widget for each in widget.findChildren(QShortcut))


def _in_a_stop(text: QWidget) -> bool:
    """Whether it is the text of something the keyboard comes to: a message, whose name says it and whose menu copies it."""
    above = text.parentWidget()
    while above is not None:
        if above.focusPolicy() & Qt.FocusPolicy.TabFocus and name_of(above):
            return True
        above = above.parentWidget()
    return False


def path(widget: QWidget) -> str:
    """Where it is, for the reader of a failed test."""
    parts = []
    at: QWidget | None = widget
    while at is not None:
        parts.append(f"{type(at).__name__}{'#' + at.objectName() if at.objectName() else ''}")
        at = at.parentWidget()
    return " < ".join(parts[:5])


def nameless(root: QWidget) -> list[str]:
    return [path(each) for each in controls(root) if not name_of(each)]


def out_of_reach(root: QWidget) -> list[str]:
    return [f"{name_of(each)!r} {path(each)}" for each in controls(root) if each.isEnabled() and not reached(each)]


def ask_for_menu(widget: QWidget) -> None:
    """Press the key for menus in a widget."""
    widget.setFocus()
    at = widget.rect().center()
    QApplication.sendEvent(widget, QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, at, widget.mapToGlobal(at)))


def open_menu(within: QWidget) -> QMenu:
    """The one menu that is open."""
    found = [menu for menu in within.findChildren(QMenu) if menu.isVisible()]
    assert len(found) == 1, [path(within)] + [menu.objectName() for menu in found]
    return found[0]


def menu_faults(menu: QMenu) -> list[str]:
    """What somebody who hears an open menu and has only the keyboard would miss in it and the menus inside it; it is closed at the end."""
    entries = [each for each in menu.actions() if each.isVisible() and not each.isSeparator()]
    faults = [f"nothing in {path(menu)}"] if not entries else []
    faults += [f"{path(menu)}: an entry without words ({each.objectName()})" for each in entries if not each.text().strip()]
    met = {menu.activeAction()}
    for _entry in entries:
        QTest.keyClick(menu, Qt.Key.Key_Down)
        met.add(menu.activeAction())
    faults += [f"{path(menu)}: Down never comes to {each.text()!r}" for each in entries if each.isEnabled() and each not in met]
    inner = [below for each in entries if isinstance(below := each.menu(), QMenu) and each.isEnabled()]
    menu.hide()
    for below in inner:
        below.popup(QPoint())
        faults += menu_faults(below)
    return faults
