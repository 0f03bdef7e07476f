"""The icon of an MCP server, decoded with care: it comes from outside."""

from __future__ import annotations

import base64
import binascii

from PySide6.QtCore import QBuffer, QByteArray, QIODevice
from PySide6.QtGui import QImage, QImageReader

KINDS = frozenset({b"png", b"jpeg", b"gif", b"webp"})
SIDE, SHOWN = 512, 64
"""Pixels: of what is read at most, and of what is kept."""


def image(text: str) -> QImage | None:
    """The picture, no larger than it is drawn; None for what is none. ``text`` is base64."""
    if not text:
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    buffer = QBuffer()
    buffer.setData(QByteArray(data))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    size = reader.size()
    if bytes(reader.format().data()) not in KINDS or not size.isValid() or max(size.width(), size.height()) > SIDE:
        return None
    found = reader.read()
    if found.isNull():
        return None
    if max(found.width(), found.height()) <= SHOWN:
        return found
    from PySide6.QtCore import Qt

    return found.scaled(SHOWN, SHOWN, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation)
