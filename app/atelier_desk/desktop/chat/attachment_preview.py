"""An enlarged attachment: an image, or a text with what the model received of it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import QDialog, QLabel, QPlainTextEdit, QPushButton, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import control, hbox, label, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.support.i18n import _
from atelier_desk.support.locale_format import more_characters
from atelier_desk.support.visible_and_shortened_text import visible

SHOWN = 200_000
"""Maximum characters shown of a text."""


class Preview(QDialog):
    """``attachment-preview``: a non-blocking dialog; Esc closes it."""

    def __init__(
        self,
        name: str,
        facts: str,
        parent: QWidget,
        *,
        picture: QImage | None,
        text: str,
        save: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("attachment-preview")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(visible(name))
        self.facts = control(label(facts, "small", self, wrap=True), "preview-facts")
        self.body = self._picture(picture, parent) if picture is not None else self._text(text)
        self.body.setAccessibleName(visible(name))
        close = control(QPushButton(_("Close"), self), "preview-close", on=self.close)
        close.setDefault(True)
        row = hbox(None, (self.facts, 1), spacing=8)
        if save is not None:
            row.addWidget(control(QPushButton(_("Save as…"), self), "preview-save", on=save))
        row.addWidget(close)
        vbox(self, (self.body, 1), row, margins=(12, 12, 12, 12), spacing=10)
        room = parent.window().size() * 0.85
        self.resize(self._picture_size(picture).boundedTo(room).expandedTo(QSize(theme().px(360), theme().px(220))))

    def _picture_size(self, picture: QImage | None) -> QSize:
        if picture is None:
            return QSize(theme().px(760), theme().px(620))
        return picture.deviceIndependentSize().toSize() + QSize(40, 90)

    def _picture(self, picture: QImage, parent: QWidget) -> QLabel:
        """The image at its original size, or scaled down to fit."""
        shown = PlainLabel(parent=self)
        shown.setObjectName("preview-picture")
        shown.setAlignment(Qt.AlignmentFlag.AlignCenter)
        room = (parent.window().size() * 0.85) - QSize(48, 100)
        ratio = self.devicePixelRatioF()
        most = QSize(round(room.width() * ratio), round(room.height() * ratio))
        if picture.width() > most.width() or picture.height() > most.height():
            picture = picture.scaled(
                most, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
            )
        pixmap = QPixmap.fromImage(picture)
        pixmap.setDevicePixelRatio(ratio)
        shown.setPixmap(pixmap)
        return shown

    def _text(self, text: str) -> QPlainTextEdit:
        field = TextField(self)
        field.setObjectName("preview-text")
        field.setReadOnly(True)
        more = "\n" + more_characters(len(text) - SHOWN) if len(text) > SHOWN else ""
        field.setPlainText(text[:SHOWN] + more)
        return field
