"""Formulas as images: LaTeX to SVG by ziamath in a separate process, SVG to pixels by QtSvg at display."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import QByteArray, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from atelier_desk.desktop.chat.markdown.draw_client import drawings
from atelier_desk.desktop.chat.markdown.draw_process import EM

CACHE_SIZE = 500
"""Maximum cached formulas, and maximum cached images."""
WIDEST, LARGEST = 8_000, 500_000
"""Maximum pixels of a formula's width and area at ``EM``: larger ones are shown as source."""
PICTURE_BYTES = 64 << 20
"""Maximum bytes of cached images; the newest is cached regardless of its size."""
_VIEW = re.compile(r'viewBox="(-?[\d.]+) (-?[\d.]+) ([\d.]+) ([\d.]+)"')


@dataclass(frozen=True, slots=True)
class Drawing:
    """A formula as black SVG, with its size in pixels at ``EM``.

    ``depth`` is the part of the height below the baseline.
    """

    svg: str
    width: float
    height: float
    depth: float


def drawing_of(svg: str) -> Drawing | None:
    """Parse the size of an SVG by ziamath; None if invalid or too large."""
    found = _VIEW.search(svg)
    if found is None:
        return None
    _left, top, width, height = map(float, found.groups())
    if width > WIDEST or width * height > LARGEST:
        return None
    return Drawing(svg, width, height, max(0.0, top + height))


class Formulas(QObject):
    """All formulas of the program.

    Signals:
        drawn: a requested formula is ready, or known to be invalid.
    """

    drawn = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._known: OrderedDict[str, Drawing | None] = OrderedDict()
        self._pictures: OrderedDict[tuple[str, int, str, float], QImage] = OrderedDict()
        self._waiting: set[str] = set()
        drawings().drawn.connect(self._store)

    def want(self, source: str) -> bool:
        """Whether it is known, drawn or invalid; if not, it is requested, and ``drawn`` follows."""
        if source in self._known:
            self._known.move_to_end(source)
            return True
        if source not in self._waiting:
            self._waiting.add(source)
            drawings().want("formula", source)
        return False

    def drawing(self, source: str) -> Drawing | None:
        """The drawing, None if unknown or invalid."""
        return self._known.get(source)

    def picture(self, source: str, px: int, colour: str, ratio: float) -> QImage | None:
        """Its image for text of ``px`` pixels in a colour, at ``ratio`` device pixels per pixel."""
        drawing = self._known.get(source)
        if drawing is None:
            return None
        key = (source, px, colour, ratio)
        image = self._pictures.get(key)
        if image is None:
            image = self._pictures[key] = _paint(drawing, px / EM, colour, ratio)
            while len(self._pictures) > 1 and (len(self._pictures) > CACHE_SIZE or self._bytes() > PICTURE_BYTES):
                self._pictures.popitem(last=False)
        return image

    def _bytes(self) -> int:
        return sum(image.sizeInBytes() for image in self._pictures.values())

    def _store(self, kind: str, source: str, svg: str) -> None:
        if kind != "formula":
            return
        self._waiting.discard(source)
        self._known[source] = drawing_of(svg)
        while len(self._known) > CACHE_SIZE:
            self._known.popitem(last=False)
        self.drawn.emit(source)


@cache
def formulas() -> Formulas:
    """The program's instance, created in the window's thread."""
    return Formulas()


def _paint(drawing: Drawing, scale: float, colour: str, ratio: float) -> QImage:
    width, height = drawing.width * scale, drawing.height * scale
    image = QImage(
        max(1, round(width * ratio)), max(1, round(height * ratio)), QImage.Format.Format_ARGB32_Premultiplied
    )
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    renderer = QSvgRenderer(QByteArray(drawing.svg.replace('"black"', f'"{colour}"').encode()))
    renderer.render(painter, QRectF(0, 0, image.width(), image.height()))
    painter.end()
    image.setDevicePixelRatio(ratio)
    return image
