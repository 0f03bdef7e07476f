"""The icon of an MCP server, decoded with limits, as it is untrusted."""

from __future__ import annotations

import base64
import binascii

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
from PySide6.QtGui import QImage, QImageReader

KINDS = frozenset({b"png", b"jpeg", b"gif", b"webp"})
SIDE, SHOWN = 512, 64
"""Pixels per side: maximum that is decoded, and size that is stored."""


def image(text: str) -> QImage | None:
    """The image from base64, scaled to its display size; None if invalid."""
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
    return found.scaled(SHOWN, SHOWN, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation)
