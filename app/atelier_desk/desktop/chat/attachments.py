"""Pictures that go with a message: read, made smaller, and shown as thumbnails until they are sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import FlowLayout, IconButton, Translated, fill
from atelier_desk.i18n import _

if TYPE_CHECKING:
    from PySide6.QtGui import QImage

MAX_SIDE = 2048
"""Longest side of a picture that is sent, in pixels; larger ones are made smaller."""
MAX_PICTURES = 10
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
_THUMBNAIL = 56


def read_picture(path: Path) -> QImage | None:
    """The picture in a file, upright; None when there is none in it."""
    from PySide6.QtGui import QImageReader

    reader = QImageReader(str(path))
    reader.setAutoTransform(True)
    image = reader.read()
    return None if image.isNull() else image


def encode(image: QImage) -> dict[str, str]:
    """Media type and base64 data, as the model gets it. JPEG unless the picture has transparency. Takes a moment: use a thread."""
    import base64

    from PySide6.QtCore import QBuffer, QByteArray, QIODevice

    if max(image.width(), image.height()) > MAX_SIDE:
        image = image.scaled(MAX_SIDE, MAX_SIDE, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation)
    kind = "PNG" if image.hasAlphaChannel() or image.width() * image.height() < 256 * 256 else "JPEG"
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, kind, 90 if kind == "JPEG" else -1)  # type: ignore[call-overload]
    return {"media_type": f"image/{kind.lower()}", "data": base64.b64encode(bytes(data.data())).decode()}


class _Thumbnail(QFrame):
    """One picture with a button that removes it."""

    removed = Signal()

    def __init__(self, image: QImage, parent: QWidget) -> None:
        from PySide6.QtGui import QPixmap

        super().__init__(parent)
        self.setObjectName("attachment")
        mark(self, "card-sunken")
        self.image = image
        side = theme().px(_THUMBNAIL)
        ratio = self.devicePixelRatioF()
        picture = QPixmap.fromImage(
            image.scaled(
                QSize(round(side * ratio), round(side * ratio)),
                Qt.AspectRatioMode.KeepAspectRatio,
                Qt.TransformationMode.SmoothTransformation,
            )
        )
        picture.setDevicePixelRatio(ratio)
        shown = QLabel(self)
        shown.setPixmap(picture)
        shown.setAccessibleName(_("Attached picture"))
        self.remove = IconButton("x", _("Remove the picture"), self, size=12)
        self.remove.clicked.connect(self.removed)
        fill(QHBoxLayout(self), shown, (self.remove, 0, Qt.AlignmentFlag.AlignTop), margins=(4, 4, 2, 4), spacing=2)


class AttachmentRow(Translated, QWidget):
    """The pictures that will be sent.

    Signals:
        changed: one was added or removed.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._flow = FlowLayout(self, 6)
        self._thumbnails: list[_Thumbnail] = []
        self.hide()

    @property
    def images(self) -> list[QImage]:
        return [thumbnail.image for thumbnail in self._thumbnails]

    def add(self, image: QImage) -> bool:
        """Add a picture; false when there are ten already."""
        if len(self._thumbnails) >= MAX_PICTURES or image.isNull():
            return False
        thumbnail = _Thumbnail(image, self)
        thumbnail.removed.connect(lambda: self._remove(thumbnail))
        self._thumbnails.append(thumbnail)
        self._flow.addWidget(thumbnail)
        thumbnail.show()
        self.show()
        self.changed.emit()
        return True

    def clear(self) -> None:
        for thumbnail in list(self._thumbnails):
            self._remove(thumbnail)

    def retranslate(self) -> None:
        for thumbnail in self._thumbnails:
            thumbnail.remove.describe(_("Remove the picture"))

    def _remove(self, thumbnail: _Thumbnail) -> None:
        self._thumbnails.remove(thumbnail)
        self._flow.removeWidget(thumbnail)
        thumbnail.hide()
        thumbnail.deleteLater()
        self.setVisible(bool(self._thumbnails))
        self.changed.emit()
