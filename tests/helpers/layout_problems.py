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

from atelier_desk.desktop.widgets.cards_buttons_labels import ElidedLabel
from tests.helpers.accessibility import path

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
    return [f"{wrong}: {path(widget)}" for widget in (root, *shown) for wrong in _problems(widget, root)]


def _problems(widget: QWidget, root: QWidget) -> Iterator[str]:
    if not widget.toolTip() and (cut := _clipped_text(widget)):  # clipped text is available as a tool tip
        yield cut
    if widget != root and isinstance(widget, CONTROLS) and (hidden := _clipped_part(widget, root)):
        yield hidden
    bar = widget.horizontalScrollBar() if isinstance(widget, QScrollArea | QListView) else None
    if bar is not None and bar.maximum() > 0 and (isinstance(widget, QScrollArea) or bar.isVisible()):
        yield f"scrolls sideways by {bar.maximum()}"
    yield from _overlaps(widget)


def _clipped_text(widget: QWidget) -> str:
    """The part of its text that is clipped; empty for none. Rows of lists elide by themselves."""
    if isinstance(widget, QLabel):
        return "" if isinstance(widget, ElidedLabel) else _clipped_label(widget)
    if isinstance(widget, QAbstractButton):
        return _clipped_button(widget)
    if isinstance(widget, QComboBox):
        option = QStyleOptionComboBox()
        widget.initStyleOption(option)
        field = QStyle.SubControl.SC_ComboBoxEditField
        room = widget.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, widget)
        widget.grab()  # its tool tip belongs to the last paint
        if widget.toolTip():
            return ""
        return _missing_width(widget.currentText(), widget.fontMetrics(), room.width())
    if isinstance(widget, QLineEdit) and not widget.text():
        return _missing_width(widget.placeholderText(), widget.fontMetrics(), widget.contentsRect().width() - 4)
    return ""


def _missing_width(text: str, metrics: QFontMetrics, room: int) -> str:
    wide = metrics.size(Qt.TextFlag.TextShowMnemonic, text).width()
    return f"cut: {text!r} is {wide} wide and has {room}" if wide > room + SLACK else ""


def _clipped_label(label: QLabel) -> str:
    text, room = label.text(), label.contentsRect().width() - 2 * label.margin()
    needed = label.heightForWidth(label.width()) if label.wordWrap() else label.fontMetrics().size(0, text).height()
    if not text or (
        needed <= label.height() + SLACK
        and label.wordWrap()
        and label.minimumSizeHint().width() <= label.width() + SLACK
    ):
        return ""
    if needed > label.height() + SLACK or label.wordWrap():
        return f"cut: {text!r} is {needed} high and has {label.height()}, in a width of {label.width()}"
    if label.textFormat() == Qt.TextFormat.PlainText:
        return _missing_width(text, label.fontMetrics(), room)
    return f"cut: {text!r}" if label.sizeHint().width() > label.width() + SLACK else ""


def _clipped_button(button: QAbstractButton) -> str:
    if isinstance(button, QToolButton) or type(button).paintEvent not in _PAINTS:
        needed = button.sizeHint().width() if button.text() and type(button).paintEvent is QToolButton.paintEvent else 0
        return (
            f"cut: {button.text()!r} needs {needed} and has {button.width()}" if needed > button.width() + SLACK else ""
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
    return _missing_width(button.text(), button.fontMetrics(), room)


def _clipped_part(widget: QWidget, root: QWidget) -> str:
    """The part of a control that is neither visible nor reachable by scrolling."""
    box, ancestor = widget.rect(), widget
    if isinstance(widget, QAbstractButton) and not widget.text():
        box = box.adjusted(EDGE, 0, -EDGE, 0)
    elif isinstance(widget, QTabBar) and isinstance(widget.parentWidget(), QMainWindow):
        return ""  # Qt moves controls of floating docks off screen
    while ancestor != root and not ancestor.isWindow() and (above := ancestor.parentWidget()) is not None:
        box, room = QRect(ancestor.mapToParent(box.topLeft()), box.size()), above.rect()
        area = above.parentWidget()
        if isinstance(area, QAbstractScrollArea) and area.viewport() == above:
            if not isinstance(area, QScrollArea):
                return ""  # lists and texts place their own content
            box = QRect(box.x(), 0, box.width(), min(box.height(), room.height()))
        if not room.adjusted(-SLACK, -SLACK, SLACK, SLACK).contains(box):
            text = widget.text() if isinstance(widget, QLabel | QAbstractButton) else ""
            return (
                f"out of sight: {text!r} {box.getRect()} in {type(above).__name__}#{above.objectName()} "
                f"{room.getRect()}"
            )
        ancestor = above
    return ""


def _widgets_in(layout: QLayout) -> Iterator[QWidget]:
    items = [item for number in range(layout.count()) if (item := layout.itemAt(number)) is not None]
    for widget, inner in [(item.widget(), item.layout()) for item in items]:
        if widget is not None and not widget.isHidden():
            yield widget
        elif inner is not None:
            yield from _widgets_in(inner)


def _overlaps(parent: QWidget) -> Iterator[str]:
    layout = parent.layout()
    if layout is None or isinstance(parent, QMainWindow) or isinstance(layout, QStackedLayout):
        return
    placed = [each for each in _widgets_in(layout) if not each.geometry().isEmpty()]
    for number, one in enumerate(placed):
        for other in placed[number + 1 :]:
            common = one.geometry().intersected(other.geometry())
            if min(common.width(), common.height()) > SLACK:
                yield f"{type(one).__name__}#{one.objectName()} lies over {type(other).__name__}#{other.objectName()}"
