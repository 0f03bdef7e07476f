"""The colours of a picture, read at once: asking for each pixel takes a second for a small window."""

from __future__ import annotations

from PySide6.QtGui import QColor, QImage


def colours(image: QImage) -> set[str]:
    """The names (``#rrggbb``) of all colours of an opaque picture."""
    opaque = image.convertToFormat(QImage.Format.Format_RGB32)  # owns the memory of the pixels
    return {QColor(pixel).name() for pixel in set(memoryview(opaque.constBits()).cast("I"))}
