"""An image in a card: zoom, save, copy, and drag as a file to other programs."""

from __future__ import annotations

import base64
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, QSize, Qt, QUrl
from PySide6.QtGui import (
    QContextMenuEvent,
    QDrag,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPixmap,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QMenu,
    QPushButton,
    QScrollArea,
    QWidget,
)

from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_save
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import IconButton, control, hbox, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.domain.model_messages import ImagePart
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import percent
from atelier_desk.support.regular_files import replace_file
from atelier_desk.support.visible_and_shortened_text import visible

ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
_THUMBNAIL = 96
_FILLS = 0.8
"""Maximum share of the screen for an enlarged image."""
_STEP = 1.25
_LEAST_ZOOM, _MOST_ZOOM, _LONGEST_SIDE = 0.1, 8.0, 32_000
"""Limits of the zoom, and of the longest side in pixels that Qt can lay out."""


def file_name(title: str, media_type: str) -> str:
    """A file name for saving an image, made from its title."""
    ending = ENDINGS.get(media_type, ".png")
    stem = re.sub(r"[^\w.-]+", "-", title.rpartition("/")[2].removesuffix(ending)).strip("-.") or "picture"
    return stem[:100] + ending


def picture_menu(
    parent: QWidget, open_large: Callable[[], object], save: Callable[[], object], copy: Callable[[], object]
) -> QMenu:
    """``picture-menu``: the context menu of any image in a transcript."""
    made = QMenu(parent)
    made.setObjectName("picture-menu")
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    made.addAction(_("Enlarge"), open_large)
    made.addAction(_("Save…"), save)
    made.addAction(_("Copy image"), copy)
    return made


class PictureLabel(PlainLabel):
    """``result-picture``. Enter or a click enlarges it, the copy shortcut copies it, dragging exports a file."""

    def __init__(self, title: str, image: ImagePart, pixmap: QPixmap, parent: QWidget) -> None:
        super().__init__(parent=parent)
        self.setObjectName("result-picture")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._title, self._image, self._full_size = title, image, pixmap
        self._pressed: QPoint | None = None
        self._dragged: tempfile.TemporaryDirectory[str] | None = None
        self.ratio = 1.0
        """Pixels of the picture for a pixel of the screen at 100 %."""

    @property
    def data(self) -> bytes:
        return base64.b64decode(self._image.data)

    def open_large(self) -> None:
        PictureDialog(self._title, self._full_size, self).open()

    def save(self) -> None:
        ask_save(self, _("Save image"), file_name(self._title, self._image.media_type), "", self.write)

    def write(self, path: Path) -> None:
        """Write the original bytes to a file."""
        replace_file(path, self.data)

    def copy(self) -> None:
        QGuiApplication.clipboard().setPixmap(self._full_size)

    def mime(self) -> QMimeData:
        """The drag data: the image, and a file for programs that accept files."""
        if self._dragged is None:
            self._dragged = tempfile.TemporaryDirectory(prefix="atelier-", ignore_cleanup_errors=True)
        path = Path(self._dragged.name) / file_name(self._title, self._image.media_type)
        self.write(path)
        made = QMimeData()
        made.setUrls([QUrl.fromLocalFile(str(path))])
        made.setImageData(self._full_size.toImage())
        return made

    def mousePressEvent(self, event: QMouseEvent) -> None:
        # On the screen: an image that gets the focus is scrolled into view, away from the pointer.
        self._pressed = event.globalPosition().toPoint() if event.button() == Qt.MouseButton.LeftButton else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if (
            self._pressed is None
            or (event.globalPosition().toPoint() - self._pressed).manhattanLength() < QApplication.startDragDistance()
        ):
            return
        self._pressed = None
        drag = QDrag(self)
        drag.setMimeData(self.mime())
        side = theme().px(_THUMBNAIL)
        drag.setPixmap(
            self._full_size.scaled(
                side, side, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
            )
        )
        drag.exec(Qt.DropAction.CopyAction)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._pressed = self._pressed, None
        if pressed is not None and event.button() == Qt.MouseButton.LeftButton:
            self.open_large()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Ignored: the first click of a double click already enlarged the image."""
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
    """``picture-dialog``: the complete image.

    Zoom with buttons, + − 0, or Ctrl and the wheel; scrolls if larger than the screen.
    """

    def __init__(self, title: str, picture: QPixmap, label: PictureLabel) -> None:
        super().__init__(label.window())
        self.setObjectName("picture-dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(visible(title or _("Image")))
        self._picture, self._ratio, self._zoom = picture, label.ratio, 1.0
        self._shown = PlainLabel(parent=self)
        self._shown.setObjectName("picture-large")
        self._shown.setScaledContents(True)
        self._shown.setPixmap(picture)
        self._shown.setAccessibleName(visible(title or _("Image")))
        self._area = QScrollArea(self)
        self._area.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._area.setWidget(self._shown)
        self._area.viewport().installEventFilter(self)
        smaller = control(
            IconButton("zoom-out", N_("Zoom out"), self), "picture-zoom-out", on=lambda: self.zoom(self._zoom / _STEP)
        )
        self._percent = control(
            QPushButton(self), "picture-zoom-whole", tip=N_("Actual size"), look="quiet", on=lambda: self.zoom(1.0)
        )
        larger = control(
            IconButton("zoom-in", N_("Zoom in"), self), "picture-zoom-in", on=lambda: self.zoom(self._zoom * _STEP)
        )
        save = control(QPushButton(self), "picture-save", N_("Save…"), on=label.save)
        copy = control(QPushButton(self), "picture-copy", N_("Copy image"), on=label.copy)
        close = control(QPushButton(self), "picture-close", N_("Close"), look="primary", on=self.close)
        row = hbox(None, smaller, self._percent, larger, 1, save, copy, close, spacing=8)
        vbox(self, (self._area, 1), row, margins=(12, 12, 12, 12), spacing=12)
        screen = self.screen().availableSize()
        room = theme().px(32)
        self.zoom(1.0)
        self.resize(
            max(row.sizeHint().width() + room, min(round(screen.width() * _FILLS), self._shown.width() + room)),
            min(round(screen.height() * _FILLS), self._shown.height() + room + save.sizeHint().height() + 24),
        )
        close.setFocus()

    def zoom(self, factor: float) -> None:
        """Set the scale, within the limits above."""
        longest = max(1, self._picture.width(), self._picture.height()) / self._ratio
        self._zoom = max(min(_LEAST_ZOOM, 1.0), min(factor, _MOST_ZOOM, _LONGEST_SIDE / longest))
        self._shown.resize((self._picture.size() / self._ratio * self._zoom).expandedTo(QSize(1, 1)))
        self._percent.setText(percent(self._zoom))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(self._zoom * _STEP)
        elif event.key() == Qt.Key.Key_Minus:
            self.zoom(self._zoom / _STEP)
        elif event.key() == Qt.Key.Key_0:
            self.zoom(1.0)
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QWheelEvent) and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(self._zoom * _STEP ** (event.angleDelta().y() / 120))
            return True
        return super().eventFilter(watched, event)
