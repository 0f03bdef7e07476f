"""The text files sent with a message: each name opens the text the model received."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.chat.transcript.message_blocks import ProseBlock
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, control
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import more_characters, number

_GAP = 4
SHOWN = 20_000
"""Maximum characters shown of an opened file."""


class AttachedFiles(QWidget):
    """One button per file; the text of the open one is below.

    Signals:
        height_changed: a file was opened or closed.
    """

    height_changed = Signal()

    def __init__(self, files: Sequence[dict[str, str]], parent: QWidget) -> None:
        super().__init__(parent)
        self._files = files
        self._open: int | None = None
        self._text = ProseBlock(self)
        self._text.hide()
        self._buttons = [self._button(index) for index in range(len(files))]
        bind(self.refresh)

    def _button(self, index: int) -> QPushButton:
        name, count = self._files[index]["name"], len(self._files[index]["text"])
        return control(
            QPushButton(self),
            "attached-file",
            lambda: ngettext(
                "{name} · {count} character", "{name} · {count} characters", count, name=name, count=number(count)
            ).replace("&", "&&"),
            look="quiet",
            name=lambda: _("Attached file {name}", name=name),
            tip=N_("Show what the agent received"),
            on=lambda: self._toggle(index),
        )

    def _toggle(self, index: int) -> None:
        self._open = None if self._open == index else index
        self.refresh()
        self.height_changed.emit()

    def refresh(self) -> None:
        for index, button in enumerate(self._buttons):
            button.setIcon(theme().icon("chevron-down" if index == self._open else "file-text"))
        self._text.setVisible(self._open is not None)
        if self._open is not None:
            text = self._files[self._open]["text"]
            more = more_characters(len(text) - SHOWN) if len(text) > SHOWN else ""
            self._text.show_plain("\n".join(part for part in (text[:SHOWN].rstrip(), more) if part))

    def natural_width(self, most: int) -> int:
        """The preferred width, at most ``most`` pixels."""
        buttons = max(button.sizeHint().width() for button in self._buttons)
        text = self._text.natural_width(most) if self._open is not None else 0
        return min(most, max(buttons, text))

    def fit(self, width: int) -> int:
        """Lay out for this width in pixels; returns the height."""
        y = 0
        for button in self._buttons:
            hint = button.sizeHint()
            button.setGeometry(0, y, min(width, hint.width()), hint.height())
            y += hint.height() + _GAP
        if self._open is not None:
            height = self._text.fit(width)
            self._text.setGeometry(0, y, width, height)
            y += height + _GAP
        return y - _GAP
