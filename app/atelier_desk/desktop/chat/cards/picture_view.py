"""A picture in a card: opened large, saved, copied, and dragged to another program as a file."""

from __future__ import annotations

import base64
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QContextMenuEvent, QDrag, QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QPixmap
from PySide6.QtWidgets import QApplication, QDialog, QHBoxLayout, QLabel, QMenu, QPushButton, QScrollArea, QVBoxLayout, QWidget

from atelier_desk.desktop.settings.files import ask_save
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import control, fill
from atelier_desk.domain.chat import ImagePart
from atelier_desk.domain.text import visible
from atelier_desk.i18n import N_, _

ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
_THUMBNAIL = 96
_FILLS = 0.8
"""Share of the screen that a large picture takes at most."""


def file_name(title: str, media_type: str) -> str:
    """A name to save a picture under, from what it is called."""
    ending = ENDINGS.get(media_type, ".png")
    stem = re.sub(r"[^\w.-]+", "-", title.rpartition("/")[2].removesuffix(ending)).strip("-.") or "picture"
    return stem[:100] + ending


def picture_menu(parent: QWidget, open_large: Callable[[], object], save: Callable[[], object], copy: Callable[[], object]) -> QMenu:
    """``picture-menu``: what can be done with any picture of a transcript."""
    made = QMenu(parent)
    made.setObjectName("picture-menu")
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    made.addAction(_("Enlarge"), open_large)
    made.addAction(_("Save…"), save)
    made.addAction(_("Copy image"), copy)
    return made


class PictureLabel(QLabel):
    """``result-picture``. Enter or a click opens it large, the copy key copies it, dragging takes it out as a file."""

    def __init__(self, title: str, image: ImagePart, whole: QPixmap, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("result-picture")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._title, self._image, self._whole = title, image, whole
        self._pressed: QPoint | None = None
        self._dragged: tempfile.TemporaryDirectory[str] | None = None

    @property
    def data(self) -> bytes:
        return base64.b64decode(self._image.data)

    def open_large(self) -> None:
        PictureDialog(self._title, self._whole, self).open()

    def save(self) -> None:
        ask_save(self, _("Save image"), file_name(self._title, self._image.media_type), "", self.write)

    def write(self, path: Path) -> None:
        """Write its file as it came."""
        path.write_bytes(self.data)

    def copy(self) -> None:
        QGuiApplication.clipboard().setPixmap(self._whole)

    def mime(self) -> QMimeData:
        """What is dragged: the picture, and a file of it for programs that take files."""
        if self._dragged is None:
            self._dragged = tempfile.TemporaryDirectory(prefix="atelier-", ignore_cleanup_errors=True)
        path = Path(self._dragged.name) / file_name(self._title, self._image.media_type)
        self.write(path)
        made = QMimeData()
        made.setUrls([QUrl.fromLocalFile(str(path))])
        made.setImageData(self._whole.toImage())
        return made

    def mousePressEvent(self, event: QMouseEvent) -> None:
        # On the screen: a picture that gets the focus is scrolled into view, away from under the pointer.
        self._pressed = event.globalPosition().toPoint() if event.button() == Qt.MouseButton.LeftButton else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None or (event.globalPosition().toPoint() - self._pressed).manhattanLength() < QApplication.startDragDistance():
            return
        self._pressed = None
        drag = QDrag(self)
        drag.setMimeData(self.mime())
        side = theme().px(_THUMBNAIL)
        drag.setPixmap(self._whole.scaled(side, side, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation))
        drag.exec(Qt.DropAction.CopyAction)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._pressed = self._pressed, None
        if pressed is not None and event.button() == Qt.MouseButton.LeftButton:
            self.open_large()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """The first click of the two has opened it."""
        self._pressed = None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.open_large()
        elif event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.Save):
            self.save()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu().popup(event.globalPos())
        event.accept()

    def menu(self) -> QMenu:
        return picture_menu(self, self.open_large, self.save, self.copy)


class PictureDialog(QDialog):
    """``picture-dialog``: the whole picture, scrolled where the screen is smaller."""

    def __init__(self, title: str, picture: QPixmap, label: PictureLabel) -> None:
        super().__init__(label.window())
        self.setObjectName("picture-dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(visible(title or _("Picture")))
        shown = QLabel(self)
        shown.setPixmap(picture)
        shown.setAccessibleName(visible(title or _("Picture")))
        area = QScrollArea(self)
        area.setAlignment(Qt.AlignmentFlag.AlignCenter)
        area.setWidget(shown)
        save = control(QPushButton(self), "picture-save", N_("Save…"), on=label.save)
        copy = control(QPushButton(self), "picture-copy", N_("Copy image"), on=label.copy)
        close = control(QPushButton(self), "picture-close", N_("Close"), look="primary", on=self.close)
        fill(QVBoxLayout(self), (area, 1), fill(QHBoxLayout(), 1, save, copy, close, spacing=8), margins=(12, 12, 12, 12), spacing=12)
        screen = self.screen().availableSize()
        room = theme().px(32)
        self.resize(
            min(round(screen.width() * _FILLS), picture.width() + room),
            min(round(screen.height() * _FILLS), picture.height() + room + save.sizeHint().height() + 24),
        )
        close.setFocus()
