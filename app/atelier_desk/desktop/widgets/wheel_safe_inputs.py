"""Combo boxes, spin boxes and sliders in which the wheel changes only the focused one.

Qt's own take the focus when the wheel turns over them and change their value at once: scrolling a page past one would
change it unnoticed. These pass the wheel on until they are clicked or reached by keyboard. Every input of the window
is one of these.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPaintEvent, QShowEvent, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QLabel,
    QSlider,
    QSpinBox,
    QStyledItemDelegate,
    QStyleOptionComboBox,
    QStylePainter,
    QWidget,
)

from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.desktop.widgets.date_format import locale
from atelier_desk.desktop.widgets.language_theme_bindings import bind
from atelier_desk.desktop.widgets.rounded_popups import round_popup
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.support.visible_and_shortened_text import visible


class _Steady:
    """Mixin for inputs: without the focus it passes the wheel to its surroundings."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # type: ignore[attr-defined]

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():  # type: ignore[attr-defined]
            super().wheelEvent(event)  # type: ignore[misc]
        else:
            event.ignore()


class ComboBox(_Steady, QComboBox):
    """A combo box; its popup looks like a menu. A text that does not fit is elided and in the tool tip."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._caption: QLabel | None = None
        self._cut = ""
        self.setItemDelegate(QStyledItemDelegate(self))  # Qt's delegate for combo boxes ignores the style sheet

    def addItem(self, text: str, data: object = None) -> None:  # type: ignore[override]  # no icons are used
        super().addItem(visible(text), data)

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        self._name_it()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._name_it()  # it may have been moved to another parent

    def _name_it(self) -> None:
        """Set its accessible name by a hidden label, too: on Linux Qt reports the current text in place of the name."""
        around = self.parentWidget()
        if around is None:
            return
        if self._caption is None:
            labels = around.findChildren(QLabel, options=Qt.FindChildOption.FindDirectChildrenOnly)
            if any(each.buddy() is self for each in labels):
                return
            self._caption = PlainLabel(parent=around)
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
        if cut != self._cut and self.toolTip() == plain_tip(self._cut):  # a tool tip of its own stays
            self._cut = cut
            self.setToolTip(plain_tip(cut))

    def showPopup(self) -> None:
        super().showPopup()
        round_popup(self.view().window())


class SpinBox(_Steady, QSpinBox):
    """A spin box whose number is written as in the program's language."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        bind(self.setLocale, locale, on="language")


class DoubleSpinBox(_Steady, QDoubleSpinBox):
    """A spin box for numbers with decimals, written as in the program's language."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        bind(self.setLocale, locale, on="language")


class Slider(_Steady, QSlider):
    """A slider."""
