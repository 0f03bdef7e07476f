"""The attachments of the message being written: a chip each with preview, name and size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSize, Qt, Signal
from PySide6.QtGui import QImage, QImageReader, QKeyEvent, QMouseEvent, QPixmap
from PySide6.QtWidgets import QFrame, QWidget

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import ElidedLabel, FlowLayout, IconButton, bind, bind_text, hbox, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.domain.image_limits import STORED_LIMITS
from atelier_desk.domain.limits import PICTURE_PIXELS
from atelier_desk.engine.attachments.names_and_decoding import is_secret_name
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import size

if TYPE_CHECKING:
    from atelier_desk.domain.attachment import Attachment
    from atelier_desk.engine.attachments.reading import PreparedAttachments

MAX_SIDE = STORED_LIMITS.side
"""Longest side of a pasted image, in pixels; the engine scales image files itself."""
THUMBNAIL = 36
"""Size of a chip's thumbnail, in pixels at 100 %."""
_NAME = 150
"""Maximum width of a chip's name, in pixels at 100 %."""
_REASON = 420
"""The same for the reason why an attachment was refused."""
ICONS = {"folder": "folder", "agent": "bot", "memory": "brain", "task": "list-todo", "clipboard": "copy"}
SOURCES = {
    "folder": N_("Folder"),
    "agent": N_("Agent"),
    "memory": N_("Memory"),
    "task": N_("Task"),
    "report": N_("Report"),
}


def opened(data: bytes | Path, side: int = 0) -> QImage:
    """An image turned upright, scaled down to ``side`` pixels (0: original size); null if it cannot be decoded.

    Images whose header states more than ``PICTURE_PIXELS`` are not decoded. Slow: call it in a thread.
    """
    buffer = QBuffer()
    if isinstance(data, Path):
        reader = QImageReader(str(data))
    else:
        buffer.setData(QByteArray(data))
        buffer.open(QIODevice.OpenModeFlag.ReadOnly)
        reader = QImageReader(buffer)
    reader.setAutoTransform(True)
    full = reader.size()
    if full.isValid() and full.width() * full.height() > PICTURE_PIXELS:
        return QImage()
    if side and full.isValid() and max(full.width(), full.height()) > side:
        reader.setScaledSize(full.scaled(side, side, Qt.AspectRatioMode.KeepAspectRatio))
    return reader.read()


def encoded(image: QImage) -> bytes:
    """A pasted image encoded for attaching: at most ``MAX_SIDE`` a side, JPEG unless transparent.

    Slow: call it in a thread.
    """
    if max(image.width(), image.height()) > MAX_SIDE:
        image = image.scaled(
            MAX_SIDE, MAX_SIDE, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
        )
    kind = "PNG" if image.hasAlphaChannel() or image.width() * image.height() < 256 * 256 else "JPEG"
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, kind, 90 if kind == "JPEG" else -1)  # type: ignore[call-overload]
    return bytes(data.data())


@dataclass(eq=False)
class Item:
    """One attachment. ``what`` is None while it is read or if it was refused, for the reason in ``problem``.

    ``thumbnail`` is the preview of an image.
    """

    name: str
    what: PreparedAttachments | Attachment | None = None
    thumbnail: QImage | None = None
    problem: str = ""

    @property
    def source(self) -> str:
        return self.what.source if self.what is not None else "file"

    @property
    def picture(self) -> bool:
        return self.what is not None and self.what.width > 0

    @property
    def secret(self) -> bool:
        """Whether its name suggests that it contains secrets."""
        return self.source in ("file", "folder") and is_secret_name(self.name)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Files of a folder that were skipped because they look like secrets.

        Parsed from the text of a restored draft.
        """
        return getattr(self.what, "left_out", ())

    @property
    def encoding(self) -> str:
        """The encoding guessed for its text, else empty."""
        return getattr(self.what, "encoding", "")

    @property
    def bytes(self) -> int:
        if self.what is None:
            return 0
        return self.what.size if hasattr(self.what, "size") else len(self.what.data)

    @property
    def characters(self) -> int:
        """Number of characters of its text."""
        if self.what is None:
            return 0
        return self.what.characters if hasattr(self.what, "characters") else len(self.what.text or "")

    def facts(self) -> str:
        """Type and size in short, or why it was refused."""
        if self.problem:
            return self.problem.removeprefix(self.name).strip()
        if self.what is None:
            return _("reading…")
        if self.source == "folder":
            return f"{_(SOURCES[self.source])} · {size(self.bytes)}"
        if self.source in SOURCES:
            return _(SOURCES[self.source])
        return size(self.bytes)


class Chip(QFrame):
    """``attachment``: preview, name, size and a remove button. Enter enlarges it, Delete and Backspace remove it.

    Signals:
        removed, opened.
        step: move the focus to the previous (-1) or next (1) chip.
    """

    removed = Signal()
    opened = Signal()
    step = Signal(int)

    def __init__(self, item: Item, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("attachment")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.item = item
        self.shown = PlainLabel(parent=self)
        self.name = ElidedLabel("", self, Qt.TextElideMode.ElideMiddle)
        self.facts = ElidedLabel("", self)
        mark(self.facts, "small")
        self.remove = IconButton("x", lambda: _("Remove {name}", name=item.name), self, size=12)
        self.remove.setObjectName("attachment-remove")
        self.remove.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Delete on the chip does the same
        self.remove.clicked.connect(self.removed)
        words = vbox(None, self.name, self.facts, spacing=0)
        hbox(
            self,
            self.shown,
            (words, 1),
            (self.remove, 0, Qt.AlignmentFlag.AlignTop),
            margins=(6, 5, 3, 5),
            spacing=7,
        )
        bind_text(
            self,
            name=lambda: item.problem or _("Attached: {name}, {facts}", name=item.name, facts=item.facts()),
            tip=lambda: item.problem or _("{name}\nEnter to open, Delete to remove", name=item.name),
        )
        bind(self.refresh)

    def refresh(self) -> None:
        item = self.item
        alert = item.secret or bool(item.problem)
        mark(self, "card-warn" if alert else "card-sunken")
        side, ratio = theme().px(THUMBNAIL), self.devicePixelRatioF()
        if item.thumbnail is not None and not item.thumbnail.isNull():
            area = QSize(round(side * ratio), round(side * ratio))
            scaled = item.thumbnail.scaled(
                area, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
            )
            picture = QPixmap.fromImage(scaled)
            picture.setDevicePixelRatio(ratio)
            self.shown.setPixmap(picture)
        else:
            name = "triangle-alert" if alert else ICONS.get(item.source, "image" if item.picture else "file-text")
            icon = theme().icon(
                "loader-circle" if item.what is None and not item.problem else name, "warn" if alert else "muted"
            )
            self.shown.setPixmap(icon.pixmap(theme().px(18), theme().px(18)))
        self.name.setText(item.name)
        self.facts.setText(item.facts())
        metrics = max(
            self.name.fontMetrics().horizontalAdvance(item.name),
            self.facts.fontMetrics().horizontalAdvance(item.facts()),
        )
        for part in (self.name, self.facts):
            part.setFixedWidth(min(theme().px(_REASON if item.problem else _NAME), metrics + 4))
        bind_text(self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Delete | Qt.Key.Key_Backspace:
                self.removed.emit()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_Space:
                self.opened.emit()
            case Qt.Key.Key_Left | Qt.Key.Key_Right:
                self.step.emit(-1 if event.key() == Qt.Key.Key_Left else 1)
            case _:
                super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.opened.emit()


class AttachmentRow(QWidget):
    """The row of attachments to be sent.

    Signals:
        changed: an attachment was added, read or removed.
        removed: the user removed this one.
        opened: enlarge this one.
        left: the last one was removed by keyboard, or one by mouse.
    """

    changed = Signal()
    removed = Signal(object)
    opened = Signal(object)
    left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("attachment-row")
        self._flow = FlowLayout(self, 6)
        self.chips: list[Chip] = []
        self.followed_by: QWidget | None = None
        """What Tab visits after this row."""
        self.hide()

    @property
    def items(self) -> list[Item]:
        return [chip.item for chip in self.chips]

    @property
    def ready(self) -> list[PreparedAttachments | Attachment]:
        """The attachments that have been read."""
        return [item.what for item in self.items if item.what is not None]

    @property
    def unready(self) -> bool:
        """Whether an attachment is being read or was refused, which prevents sending."""
        return any(item.what is None for item in self.items)

    def add(self, item: Item) -> None:
        chip = Chip(item, self)
        chip.removed.connect(lambda: self._on_removed(chip))
        chip.remove.clicked.connect(self.left)  # after ``removed``: the click gave the chip the focus
        chip.opened.connect(lambda: self.opened.emit(item) if item.what is not None else None)
        chip.step.connect(lambda by: self._step(chip, by))
        self._order(chip)
        self.chips.append(chip)
        self._flow.addWidget(chip)
        chip.show()
        self.show()
        self.changed.emit()

    def _order(self, chip: Chip) -> None:
        """Put a chip at its place in the tab order: after the previous chip, or before what follows the row."""
        if self.chips:
            QWidget.setTabOrder(self.chips[-1], chip)
        # Qt can only insert after: the chip after the field, then the field after the chip.
        elif self.followed_by is not None:
            QWidget.setTabOrder(self.followed_by, chip)
            QWidget.setTabOrder(chip, self.followed_by)

    def refresh(self, item: Item) -> None:
        """An attachment was read."""
        for chip in self.chips:
            if chip.item is item:
                chip.refresh()
        self.changed.emit()

    def remove(self, item: Item) -> None:
        chip = next((each for each in self.chips if each.item is item), None)
        if chip is None:
            return
        self.chips.remove(chip)
        self._flow.removeWidget(chip)
        chip.hide()
        chip.deleteLater()
        self.setVisible(bool(self.chips))
        self.changed.emit()

    def clear(self) -> None:
        for item in self.items:
            self.remove(item)

    def show_items(self, items: Sequence[Item]) -> None:
        """Replace all attachments, without signals."""
        self.blockSignals(True)
        self.clear()
        for item in items:
            self.add(item)
        self.blockSignals(False)

    def _on_removed(self, chip: Chip) -> None:
        at, had_focus = self.chips.index(chip), chip.hasFocus()
        self.remove(chip.item)
        self.removed.emit(chip.item)
        if had_focus and self.chips:
            self.chips[min(at, len(self.chips) - 1)].setFocus()
        elif had_focus:
            self.left.emit()

    def _step(self, chip: Chip, by: int) -> None:
        at = self.chips.index(chip) + by
        if 0 <= at < len(self.chips):
            self.chips[at].setFocus()
