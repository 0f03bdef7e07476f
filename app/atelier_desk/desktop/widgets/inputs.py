"""Combo boxes, spin boxes, sliders and search fields as the window uses them: the wheel changes what has the focus and nothing else.

Qt's own take the focus when the wheel turns over them and change their value with the same turn: whoever scrolls a page past one edits it
unseen. These leave the wheel to the page until they were clicked or reached by keyboard. Every input of the window is one of these.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPaintEvent, QResizeEvent, QShowEvent, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QLabel,
    QLineEdit,
    QSlider,
    QSpinBox,
    QStyledItemDelegate,
    QStyleOptionComboBox,
    QStylePainter,
    QWidget,
)

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets.bindings import bind
from atelier_desk.desktop.widgets.controls import IconButton
from atelier_desk.desktop.widgets.rounded import round_popup
from atelier_desk.support.i18n import N_
from atelier_desk.support.text import visible


class _Steady:
    """Mix in before an input: without the focus it lets the wheel through to what is around it."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # type: ignore[attr-defined]

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():  # type: ignore[attr-defined]
            super().wheelEvent(event)  # type: ignore[misc]
        else:
            event.ignore()


class ComboBox(_Steady, QComboBox):
    """A combo box; its popup looks as the menus do. A text that it has no room for ends in … and is in the tool tip."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._caption: QLabel | None = None
        self._cut = ""
        self.setItemDelegate(QStyledItemDelegate(self))  # Qt's own for combo boxes does not read the style sheet

    def addItem(self, text: str, data: object = None) -> None:  # type: ignore[override]  # no box has pictures
        super().addItem(visible(text), data)

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        self._name_it()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._name_it()  # it may have been put into another widget since

    def _name_it(self) -> None:
        """Name it by a label that is not shown, too: on Linux Qt gives a screen reader what is chosen in place of the name."""
        around = self.parentWidget()
        if around is None:
            return
        if self._caption is None:
            labels = around.findChildren(QLabel, options=Qt.FindChildOption.FindDirectChildrenOnly)
            if any(each.buddy() is self for each in labels):
                return
            self._caption = QLabel(around)
            self._caption.setBuddy(self)
        elif self._caption.parent() is not around:
            self._caption.setParent(around)
        self._caption.hide()
        self._caption.setText(self.accessibleName())

    def initStyleOption(self, option: QStyleOptionComboBox) -> None:
        super().initStyleOption(option)
        style = self.style()
        field = style.SubControl.SC_ComboBoxEditField
        room = style.subControlRect(style.ComplexControl.CC_ComboBox, option, field, self).width()
        option.currentText = self.fontMetrics().elidedText(option.currentText, Qt.TextElideMode.ElideRight, room)

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        painter, style = QStylePainter(self), self.style()
        painter.drawComplexControl(style.ComplexControl.CC_ComboBox, option)
        painter.drawControl(style.ControlElement.CE_ComboBoxLabel, option)
        cut = self.currentText() if option.currentText != self.currentText() else ""
        if cut != self._cut and self.toolTip() == self._cut:  # one of its own stays
            self._cut = cut
            self.setToolTip(cut)

    def showPopup(self) -> None:
        super().showPopup()
        round_popup(self.view().window())


class SpinBox(_Steady, QSpinBox):
    """A spin box."""


class DoubleSpinBox(_Steady, QDoubleSpinBox):
    """A spin box for numbers with decimals."""


class Slider(_Steady, QSlider):
    """A slider."""


class SearchField(QLineEdit):
    """A line edit with a magnifier before its text, which grows with it; Qt draws the icons of a field in one size."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        mark(self, "search")
        self._lens = IconButton("search", N_("Search"), self)
        self._lens.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._lens.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        bind(self._place)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        wide = theme().px(26)
        self._lens.setGeometry(0, 0, wide, self.height())
        self.setTextMargins(wide - 4, 0, 0, 0)
