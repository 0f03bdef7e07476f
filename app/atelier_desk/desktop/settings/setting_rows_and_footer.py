"""Parts of settings pages: rows, section cards, the footer, and switches of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QBoxLayout,
    QCheckBox,
    QComboBox,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from atelier_desk.desktop.panes.spin_box_padding import pad
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import Card, bind_text, fill, hbox, label, vbox
from atelier_desk.desktop.widgets import control as set_up
from atelier_desk.desktop.widgets.language_theme_bindings import Text, text_of

TEXT, STRETCH_TEXT = 110, 150
"""Minimum width of a row's texts beside its control, below which the control moves under them.

More for wide controls.
"""
NOTE = 220
"""Minimum width of the footer's note, below which the buttons move under it."""


class Row(QWidget):
    """Caption and hint on the left, control on the right; with ``stretch`` the control takes most of the width."""

    def __init__(self, control: QWidget, parent: QWidget | None = None, *, stretch: bool = False) -> None:
        super().__init__(parent)
        self.control = control
        self.caption = label("", "", self, wrap=True)
        self.hint = label("", "small", self, wrap=True)
        self.hint.hide()
        self.caption.setBuddy(control)
        texts = vbox(None, 1, self.caption, self.hint, 1, spacing=2)
        self._stretch = stretch
        line = self._line = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        line.setContentsMargins(0, 4, 0, 4)
        line.setSpacing(16)
        fill(line, (texts, 2 if stretch else 1), (control, 3 if stretch else 0, Qt.AlignmentFlag.AlignVCenter))
        if stretch and isinstance(control, QComboBox):
            for changed in (control.model().dataChanged, control.model().rowsInserted):
                changed.connect(lambda *_change: self._arrange())  # text changes, for example of the language
        if isinstance(control, QAbstractSpinBox):
            pad(control)
        elif isinstance(control, QCheckBox) and not control.text():
            mark(control, "bare")  # aligned with the ends of other fields

    def minimumSizeHint(self) -> QSize:
        """A row is at least as wide as its control: a narrow row puts it under the texts."""
        # A combo box with a limited width may be narrower than its longest entry, which is then elided.
        field = self.control.minimumWidth() or self.control.minimumSizeHint().width()
        narrow = max(self.caption.minimumSizeHint().width(), field)
        return QSize(narrow, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._arrange()

    def _arrange(self) -> None:
        """Put the control beside the texts, or under them if there is no room for both."""
        room = self.control.sizeHint().width() + theme().px(STRETCH_TEXT if self._stretch else TEXT)
        down = self.width() < room or self._cuts()
        self._line.setDirection(QBoxLayout.Direction.TopToBottom if down else QBoxLayout.Direction.LeftToRight)
        self._line.setSpacing(6 if down else 16)
        side = (
            Qt.AlignmentFlag.AlignVCenter
            if not down
            else Qt.AlignmentFlag(0)
            if self._stretch
            else Qt.AlignmentFlag.AlignLeft
        )
        self._line.setAlignment(self.control, side)

    def _cuts(self) -> bool:
        """Whether a wide control would wrap the caption, or a combo box elide an entry."""
        box, room = self.control, self.width() - 16
        texts = min(room * 2 // 5 if self._stretch else room, room - box.sizeHint().width())
        if self.caption.heightForWidth(texts) > 2 * self.caption.fontMetrics().lineSpacing() + 2:
            return True
        if not self._stretch or not isinstance(box, QComboBox):
            return False
        widest = max((box.fontMetrics().horizontalAdvance(box.itemText(row)) for row in range(box.count())), default=0)
        return widest + theme().px(44) > (self.width() - 16) * 3 // 5

    def set_texts(self, caption: Text, hint: Text = "") -> None:
        """Bind the texts of the row, which are also the control's accessible name and description."""
        bind_text(self.caption, lambda: text_of(caption).replace("&", "&&"))  # "&" marks a mnemonic of the buddy
        bind_text(self.hint, hint)
        self.hint.setVisible(bool(hint))
        bind_text(self.control, name=caption, about=hint)


class PageFooter(QWidget):
    """A note with buttons on its right, which are never clipped; the note moves above them if there is little room."""

    def __init__(self, note: QWidget, buttons: Sequence[QPushButton], parent: QWidget) -> None:
        super().__init__(parent)
        self._buttons = buttons
        row = hbox(None, 1, *buttons, spacing=8)
        for button in buttons:
            button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
            row.setAlignment(button, Qt.AlignmentFlag.AlignVCenter)
        note.setMinimumHeight(buttons[0].sizeHint().height())
        self._line = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        fill(self._line, (note, 1), row, margins=(24, 10, 24, 10), spacing=8)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        room = self.width() - sum(button.sizeHint().width() + 8 for button in self._buttons if not button.isHidden())
        down = room < theme().px(NOTE)
        self._line.setDirection(QBoxLayout.Direction.TopToBottom if down else QBoxLayout.Direction.LeftToRight)


class SectionCard(Card):
    """The card of a section, with its ``heading`` above."""

    def __init__(self, page: QWidget, title: Text) -> None:
        super().__init__(page)
        self.body.setSpacing(4)
        self.heading = bind_text(label("", "heading", page), title)

    def set_shown(self, on: bool) -> None:
        """Show or hide it with its heading."""
        self.heading.setVisible(on)
        self.setVisible(on)


def switch_row(
    parent: QWidget, name: str, caption: Text, hint: Text, on: bool, switched: Callable[[bool], object]
) -> Row:
    """A row of a list whose control is a check box; ``switched`` is called when the user clicks it."""
    box = set_up(QCheckBox(parent), name)
    box.setChecked(on)
    box.clicked.connect(switched)
    row = Row(box, parent)
    row.set_texts(caption, hint)
    return row
