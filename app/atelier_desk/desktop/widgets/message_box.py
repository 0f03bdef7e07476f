"""A message box whose texts may be from elsewhere: a sheet over the window that asks."""

from __future__ import annotations

import re
import unicodedata

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QGridLayout, QMessageBox, QPushButton, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets.scrim import PAUSE_MS, Scrim
from atelier_desk.support.text import visible

MOST = 1500
"""Characters of a text: with the usual font a box of them, title and buttons, fits a screen of 768 pixels."""
LINES = 20
EDGE = 16
"""Pixels that stay free around a sheet."""
QT_WIDTH, QT_MARGIN = 1000, 480
"""Most pixels of a message box's width, and what it leaves of the screen's: ``QMessageBoxPrivate::updateSize``."""
_BREAK = "\u200b"
"""A line may be broken here; ``visible`` writes those of the text itself out."""
_LONG = re.compile("[\\S\xa0\u2007\u202f]{41,}")
_PART = 30


class MessageBox(QMessageBox):
    """Plain text in which every character is seen, bounded, and broken in long words: Qt would cut them off at the edge, and lay out a very
    long one for seconds. It is deleted when it is closed.

    It opens as a sheet over the window of its parent, under ``sheet-shade``; where that is hidden or too small, as a window of its own.
    Either way it takes no key before the pause of ``Scrim``: what is typed for something else answers nothing.
    """

    def __init__(self, parent: QWidget | None, name: str) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self._shade: Scrim | None = None
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)

    def setText(self, text: str) -> None:
        super().setText(_fitted(text))

    def text(self) -> str:
        return super().text().replace(_BREAK, "")

    def setInformativeText(self, text: str) -> None:
        super().setInformativeText(_fitted(text))

    def informativeText(self) -> str:
        return super().informativeText().replace(_BREAK, "")

    def setDetailedText(self, text: str) -> None:
        super().setDetailedText(_LONG.sub(_broken, visible(text)))

    def open(self) -> None:  # type: ignore[override]  # the one with a slot is not used
        """Ask. What had the keyboard has it again afterwards."""
        asking = self.parentWidget()
        host = asking.window() if asking is not None else None
        if host is not None:
            self._stack_buttons(host)
        self._align_texts()
        if self._shade is not None or asking is None or host is None or not host.isVisible() or not self._fits(host):
            if self._shade is None:
                self.installEventFilter(self)
                for button in self.buttons():
                    button.installEventFilter(self)
                self._pause.start()
            super().open()
            return
        mark(self, "sheet")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        if (layout := self.layout()) is not None:
            layout.setContentsMargins(*map(theme().px, (20, 18, 20, 16)))
        self._shade = shade = Scrim(host, "sheet-shade")
        before = QApplication.focusWidget()
        asking.destroyed.connect(shade.deleteLater)
        self.finished.connect(lambda _code: _remove_shade(shade, before))
        shade.hold(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and self._pause.isActive():
            self._pause.start()
            return True
        return super().eventFilter(watched, event)

    def _align_texts(self) -> None:
        """Texts begin where the buttons do: Qt leaves room for an icon also where there is none."""
        grid = self.layout()
        if isinstance(grid, QGridLayout) and self.icon() == QMessageBox.Icon.NoIcon and self.iconPixmap().isNull():
            place = grid.itemAtPosition(0, 0)
            if place is not None and (spacer := place.spacerItem()) is not None:
                spacer.changeSize(0, 0)
                grid.setHorizontalSpacing(0)
                grid.setColumnStretch(1, 1)

    def _stack_buttons(self, host: QWidget) -> None:
        """One above the other where they do not fit in a row: Qt makes a message box no wider than this, and cuts their words."""
        row = self.findChild(QDialogButtonBox)
        most = min(QT_WIDTH, self.screen().availableSize().width() - QT_MARGIN, host.width() - 2 * EDGE)
        wide = sum(each.sizeHint().width() + theme().px(8) for each in self.buttons()) + theme().px(40)
        if row is not None and wide > most:
            row.setOrientation(Qt.Orientation.Vertical)

    def _fits(self, host: QWidget) -> bool:
        self.ensurePolished()
        room = self.sizeHint()
        return room.width() <= host.width() - 2 * EDGE and room.height() <= host.height() - 2 * EDGE

    def fit(self) -> None:
        """In the upper part of the shade, as a sheet is; its size is its texts'."""
        if self._shade is not None:
            room = self._shade.size() - self.size()
            self.move(room.width() // 2, max(EDGE, room.height() // 4))

    def focus_first(self) -> None:
        self.focus_again()

    def focus_again(self) -> None:
        """Into the button that has it, else into that which Enter presses."""
        here = self.focusWidget()
        target = here if here in self.buttons() else self.defaultButton() or next(iter(self.buttons()), None)
        if target is not None:
            target.setFocus(Qt.FocusReason.OtherFocusReason)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab stays inside."""
        if self._shade is None:
            return super().focusNextPrevChild(forward)
        usable = [each for each in self.buttons() if each.isVisible() and each.isEnabled()]
        usable.sort(key=lambda each: each.x())
        here = self.focusWidget()
        at = usable.index(here) if here in usable else -1
        if usable:
            usable[(at + (1 if forward else -1)) % len(usable)].setFocus(Qt.FocusReason.TabFocusReason)
        return bool(usable)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.fit()

    def add(self, text: str, name: str, role: QMessageBox.ButtonRole, look: str = "") -> QPushButton:
        """A button of its own."""
        button = QPushButton(text, self)
        button.setObjectName(name)
        if look:
            mark(button, look)
        self.addButton(button, role)
        return button


def _remove_shade(shade: Scrim, before: QWidget | None) -> None:
    shade.hold(None)
    shade.leave()
    if before is not None and isValid(before) and before.isVisible():
        before.setFocus(Qt.FocusReason.OtherFocusReason)


def _fitted(text: str) -> str:
    """Of a text that is too long the beginning and the end."""
    lines = visible(text).split("\n")
    if len(lines) > LINES:
        lines = [*lines[: LINES * 2 // 3], "…", *lines[-(LINES // 3) :]]
    text = "\n".join(lines)
    if len(text) > MOST:
        text = f"{text[: MOST * 2 // 3]} … {text[-(MOST // 3) :]}"
    return _LONG.sub(_broken, text)


def _broken(found: re.Match[str]) -> str:
    word, parts, start = found[0], [], 0
    while start < len(word):
        end = start + _PART
        if end < len(word) and (slash := max(word.rfind("/", start + 1, end), word.rfind("\\", start + 1, end))) > 0:
            end = slash + 1  # a path is broken between its folders
        while end < len(word) and unicodedata.category(word[end])[0] in "MC":  # marks and joiners stay with their letter
            end += 1
        parts.append(word[start:end])
        start = end
    return _BREAK.join(parts)
