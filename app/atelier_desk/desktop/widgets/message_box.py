"""A message box for untrusted texts: a sheet over the window."""

from __future__ import annotations

import re
import unicodedata

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QGridLayout, QMessageBox, QPushButton, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets.enter_key import is_field, types_text
from atelier_desk.desktop.widgets.language_theme_bindings import bind
from atelier_desk.desktop.widgets.scrim import PAUSE_MS, Scrim
from atelier_desk.support.visible_and_shortened_text import visible

MOST = 1500
"""Maximum characters of a text: with the usual font a box with title and buttons fits a screen of 768 pixels."""
LINES = 20
EDGE = 16
"""Margin in pixels around a sheet."""
QT_WIDTH, QT_MARGIN = 1000, 480
"""Maximum width in pixels of a message box, and its margin on the screen: ``QMessageBoxPrivate::updateSize``."""
_BREAK = "\u200b"
"""An optional line break; ``visible`` makes those of the original text visible."""
_LONG = re.compile("[\\S\xa0\u2007\u202f]{41,}")
_PART = 30


class MessageBox(QMessageBox):
    """Plain text with all characters visible, limited in length, with line breaks in long words.

    Qt would cut off long words, and take seconds to lay out very long ones. It is deleted when closed.

    It opens as a sheet over its parent's window, under ``sheet-shade``; if that is hidden or too small, as a window.
    In both cases keys typed before the pause of ``Scrim``, and letters at any time, decide nothing: they go to the
    composer of the window.
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

    def open(self) -> None:  # type: ignore[override]  # the variant with a slot is not used
        """Open the box. Afterwards the focus returns to where it was."""
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
        bind(self._size_margins, on="look")
        self._shade = shade = Scrim(host, "sheet-shade")
        before = QApplication.focusWidget()
        asking.destroyed.connect(shade.deleteLater)
        self.finished.connect(lambda _code: _remove_shade(shade, before))
        shade.hold(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
            and (self._pause.isActive() or types_text(event))
        ):
            self._pause.start()
            self._pass_on(event)
            return True
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt presses the button with a letter of its text, such as Y for &Yes; here letters go on to the shade."""
        if types_text(event):
            event.ignore()
        else:
            super().keyPressEvent(event)

    def _pass_on(self, event: QKeyEvent) -> None:
        """Type a key into the field of the window behind the box, which types letters into its composer."""
        asking = self.parentWidget()
        if asking is not None and (types_text(event) or event.text() == " "):
            behind = asking.window().focusWidget()
            QApplication.sendEvent(behind if behind is not None and is_field(behind) else asking.window(), event)

    def _size_margins(self) -> None:
        if (layout := self.layout()) is not None:
            layout.setContentsMargins(*map(theme().px, (20, 18, 20, 16)))

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
        """Stack the buttons if they do not fit in a row: Qt limits the width of a message box and cuts their texts."""
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
        """Position the sheet in the upper part of the shade; its size depends on its texts."""
        if self._shade is not None:
            room = self._shade.size() - self.size()
            self.move(room.width() // 2, max(EDGE, room.height() // 4))

    def focus_first(self) -> None:
        self.focus_again()

    def focus_again(self) -> None:
        """Focus the button that had the focus, else the default one."""
        here = self.focusWidget()
        target = here if here in self.buttons() else self.defaultButton() or next(iter(self.buttons()), None)
        if target is not None:
            target.setFocus(Qt.FocusReason.OtherFocusReason)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Keep Tab inside."""
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
        """Add a button."""
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
    """The beginning and end of a text that is too long."""
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
        # Combining marks and joiners stay with their letter.
        while end < len(word) and unicodedata.category(word[end])[0] in "MC":
            end += 1
        parts.append(word[start:end])
        start = end
    return _BREAK.join(parts)
