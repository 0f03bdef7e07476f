"""Turn the mouse wheel over a window's inputs, as when scrolling past them."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractSlider, QAbstractSpinBox, QApplication, QComboBox, QScrollBar, QWidget


def turn(widget: QWidget, notches: int = -1) -> None:
    """Turn the wheel over a widget, visible or not; a negative number scrolls down."""
    middle = QPointF(widget.rect().center())
    event = QWheelEvent(
        middle, QPointF(widget.mapToGlobal(middle.toPoint())), QPoint(), QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(widget, event)


def turn_over(widget: QWidget, notches: int = -1) -> None:
    """Turn the wheel as the window system reports it: to the window, at a visible widget's place."""
    window = widget.window()
    QTest.wheelEvent(
        window.windowHandle(), QPointF(widget.mapTo(window, widget.rect().center())), QPoint(0, 120 * notches)
    )
    QApplication.processEvents()


def inputs(window: QWidget) -> list[QWidget]:
    """Every combo box, spin box and slider below a widget; no scroll bars."""
    kinds = (QComboBox, QAbstractSpinBox, QAbstractSlider)
    return [
        each for each in window.findChildren(QWidget) if isinstance(each, kinds) and not isinstance(each, QScrollBar)
    ]


def value(widget: Any) -> Any:
    """The value of an input."""
    if isinstance(widget, QComboBox):
        return widget.currentIndex()
    return widget.value() if isinstance(widget, QAbstractSlider) else widget.text()


def changed_by_wheel(window: QWidget) -> list[str]:
    """Names of unfocused inputs that the wheel changes, or that would take the focus."""
    wrong = []
    for widget in inputs(window):
        if isinstance(widget, QComboBox):
            widget.blockSignals(True)
            widget.addItems(["one", "two"])
            widget.setCurrentIndex(0)
            widget.blockSignals(False)
        widget.clearFocus()
        before = value(widget)
        for notches in (-1, 1):
            turn(widget, notches)
            if value(widget) != before or widget.focusPolicy() is Qt.FocusPolicy.WheelFocus:
                wrong.append(widget.objectName() or type(widget).__name__)
    return wrong
