"""Layout problems of a window: clipped texts, misplaced or overlapping controls, sideways scrolling."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QLabel,
    QLayout,
    QLineEdit,
    QListView,
    QMainWindow,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QStackedLayout,
    QStyle,
    QStyleOptionButton,
    QStyleOptionComboBox,
    QTabBar,
    QToolButton,
    QWidget,
)

from atelier_desk.desktop.widgets.controls import ElidedLabel
from tests.support.access import path

SLACK = 1
"""Pixels of rounding error."""
_PAINTS = (QPushButton.paintEvent, QCheckBox.paintEvent, QRadioButton.paintEvent)
"""Paint methods of buttons that Qt draws itself."""
EDGE = 6
"""Pixels next to a button's icon in which it may overlap a neighbouring text."""
CONTROLS = (QLabel, QAbstractButton, QLineEdit, QComboBox, QAbstractSpinBox, QAbstractItemView, QTabBar)


def misfits(root: QWidget) -> list[str]:
    """All layout problems of a shown window or part, one line each with the widget's path."""
    shown = (each for each in root.findChildren(QWidget) if each.isVisible() and each.window() == root.window())
    return [f"{wrong}: {path(widget)}" for widget in (root, *shown) for wrong in _wrong(widget, root)]


def _wrong(widget: QWidget, root: QWidget) -> Iterator[str]:
    if not widget.toolTip() and (cut := _cut(widget)):  # clipped text is available as a tool tip
        yield cut
    if widget != root and isinstance(widget, CONTROLS) and (hidden := _clipped(widget, root)):
        yield hidden
    bar = widget.horizontalScrollBar() if isinstance(widget, QScrollArea | QListView) else None
    if bar is not None and bar.maximum() > 0 and (isinstance(widget, QScrollArea) or bar.isVisible()):
        yield f"scrolls sideways by {bar.maximum()}"
    yield from _overlaps(widget)


def _cut(widget: QWidget) -> str:
    """The part of its text that is clipped; empty for none. Rows of lists elide by themselves."""
    if isinstance(widget, QLabel):
        return "" if isinstance(widget, ElidedLabel) else _cut_label(widget)
    if isinstance(widget, QAbstractButton):
        return _cut_button(widget)
    if isinstance(widget, QComboBox):
        option = QStyleOptionComboBox()
        widget.initStyleOption(option)
        field = QStyle.SubControl.SC_ComboBoxEditField
        room = widget.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, widget)
        widget.grab()  # its tool tip belongs to the last paint
        if widget.toolTip():
            return ""
        return _lacking(widget.currentText(), widget.fontMetrics(), room.width())
    if isinstance(widget, QLineEdit) and not widget.text():
        return _lacking(widget.placeholderText(), widget.fontMetrics(), widget.contentsRect().width() - 4)
    return ""


def _lacking(text: str, metrics: QFontMetrics, room: int) -> str:
    wide = metrics.size(Qt.TextFlag.TextShowMnemonic, text).width()
    return f"cut: {text!r} is {wide} wide and has {room}" if wide > room + SLACK else ""


def _cut_label(shown: QLabel) -> str:
    text, room = shown.text(), shown.contentsRect().width() - 2 * shown.margin()
    needed = shown.heightForWidth(shown.width()) if shown.wordWrap() else shown.fontMetrics().size(0, text).height()
    if not text or (
        needed <= shown.height() + SLACK
        and shown.wordWrap()
        and shown.minimumSizeHint().width() <= shown.width() + SLACK
    ):
        return ""
    if needed > shown.height() + SLACK or shown.wordWrap():
        return f"cut: {text!r} is {needed} high and has {shown.height()}, in a width of {shown.width()}"
    if shown.textFormat() == Qt.TextFormat.PlainText:
        return _lacking(text, shown.fontMetrics(), room)
    return f"cut: {text!r}" if shown.sizeHint().width() > shown.width() + SLACK else ""


def _cut_button(button: QAbstractButton) -> str:
    if isinstance(button, QToolButton) or type(button).paintEvent not in _PAINTS:
        wanted = button.sizeHint().width() if button.text() and type(button).paintEvent is QToolButton.paintEvent else 0
        return (
            f"cut: {button.text()!r} needs {wanted} and has {button.width()}" if wanted > button.width() + SLACK else ""
        )
    option = QStyleOptionButton()
    button.initStyleOption(option)  # type: ignore[attr-defined]
    if isinstance(button, QPushButton):
        room = button.style().subElementRect(QStyle.SubElement.SE_PushButtonContents, option, button).width()
        room -= 0 if button.icon().isNull() else button.iconSize().width() + 4
    else:
        room = (
            button.width()
            - button.style().subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, button).width()
        )
    return _lacking(button.text(), button.fontMetrics(), room)


def _clipped(widget: QWidget, root: QWidget) -> str:
    """The part of a control that is neither visible nor reachable by scrolling."""
    box, at = widget.rect(), widget
    if isinstance(widget, QAbstractButton) and not widget.text():
        box = box.adjusted(EDGE, 0, -EDGE, 0)
    elif isinstance(widget, QTabBar) and isinstance(widget.parentWidget(), QMainWindow):
        return ""  # Qt moves controls of floating docks off screen
    while at != root and not at.isWindow() and (above := at.parentWidget()) is not None:
        box, room = QRect(at.mapToParent(box.topLeft()), box.size()), above.rect()
        area = above.parentWidget()
        if isinstance(area, QAbstractScrollArea) and area.viewport() == above:
            if not isinstance(area, QScrollArea):
                return ""  # lists and texts place their own content
            box = QRect(box.x(), 0, box.width(), min(box.height(), room.height()))
        if not room.adjusted(-SLACK, -SLACK, SLACK, SLACK).contains(box):
            words = widget.text() if isinstance(widget, QLabel | QAbstractButton) else ""
            return (
                f"out of sight: {words!r} {box.getRect()} in {type(above).__name__}#{above.objectName()} "
                f"{room.getRect()}"
            )
        at = above
    return ""


def _laid_out(layout: QLayout) -> Iterator[QWidget]:
    items = [item for number in range(layout.count()) if (item := layout.itemAt(number)) is not None]
    for widget, inner in [(item.widget(), item.layout()) for item in items]:
        if widget is not None and not widget.isHidden():
            yield widget
        elif inner is not None:
            yield from _laid_out(inner)


def _overlaps(parent: QWidget) -> Iterator[str]:
    layout = parent.layout()
    if layout is None or isinstance(parent, QMainWindow) or isinstance(layout, QStackedLayout):
        return
    placed = [each for each in _laid_out(layout) if not each.geometry().isEmpty()]
    for number, one in enumerate(placed):
        for other in placed[number + 1 :]:
            common = one.geometry().intersected(other.geometry())
            if min(common.width(), common.height()) > SLACK:
                yield f"{type(one).__name__}#{one.objectName()} lies over {type(other).__name__}#{other.objectName()}"
