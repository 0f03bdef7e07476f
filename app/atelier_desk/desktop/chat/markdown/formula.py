"""Formulas as pictures: LaTeX to SVG by ziamath on a thread of its own, SVG to pixels by QtSvg where it is shown."""

from __future__ import annotations

import contextlib
import queue
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import QByteArray, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QImage, QPainter

from atelier_desk.desktop.chat.markdown.math import body_of

EM = 16.0
"""Pixels of the letter size that formulas are made in; they are scaled when they are shown."""
LONGEST = 2_000
"""Characters; a longer one is shown as its source."""
KEPT = 500
"""Formulas, and pictures of them, that are remembered."""
_VIEW = re.compile(r'viewBox="(-?[\d.]+) (-?[\d.]+) ([\d.]+) ([\d.]+)"')


@dataclass(frozen=True, slots=True)
class Drawing:
    """A formula as SVG in black, with its size in pixels at ``EM``; ``depth`` is how much of the height is below the line of the text."""

    svg: str
    width: float
    height: float
    depth: float


def draw(source: str) -> Drawing | None:
    """The drawing of a formula with its marks; None when it is broken. The first one loads fonts: some 300 ms."""
    body, display = body_of(source)
    if len(body) > LONGEST:
        return None
    try:
        import ziamath

        ziamath.config.svg2 = False  # QtSvg draws only the bars of ``symbol`` and ``use``
        svg = ziamath.Latex(body, size=EM, inline=not display).svg()
    except Exception:  # whatever a broken formula makes of a library that expects whole ones
        return None
    found = _VIEW.search(svg)
    if found is None:
        return None
    _left, top, width, height = map(float, found.groups())
    return Drawing(svg, width, height, max(0.0, top + height))


class Formulas(QObject):
    """All formulas of the program.

    Signals:
        drawn: a formula that was wanted is there now, or is known to be broken.
    """

    drawn = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._known: OrderedDict[str, Drawing | None] = OrderedDict()
        self._pictures: OrderedDict[tuple[str, int, str, float], QImage] = OrderedDict()
        self._waiting: set[str] = set()
        self._wanted: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._made: dict[str, Drawing | None] = {}
        self.drawn.connect(self._keep)

    def want(self, source: str) -> bool:
        """Whether it is known already, drawn or broken; else it is made, and ``drawn`` tells when."""
        if source in self._known:
            self._known.move_to_end(source)
            return True
        if source not in self._waiting:
            self._waiting.add(source)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="formulas", daemon=True)
                self._thread.start()
            self._wanted.put(source)
        return False

    def drawing(self, source: str) -> Drawing | None:
        """What is known of it; None also when it is broken."""
        return self._known.get(source)

    def picture(self, source: str, px: int, colour: str, ratio: float) -> QImage | None:
        """Its picture for letters of ``px`` pixels, in a colour, with ``ratio`` device pixels a pixel."""
        drawing = self._known.get(source)
        if drawing is None:
            return None
        key = (source, px, colour, ratio)
        image = self._pictures.get(key)
        if image is None:
            image = self._pictures[key] = _paint(drawing, px / EM, colour, ratio)
            while len(self._pictures) > KEPT:
                self._pictures.popitem(last=False)
        return image

    def _work(self) -> None:
        while True:
            source = self._wanted.get()
            self._made[source] = draw(source)
            with contextlib.suppress(RuntimeError):  # the program ends
                self.drawn.emit(source)

    def _keep(self, source: str) -> None:
        """First of all who listen: on the thread of the window."""
        self._waiting.discard(source)
        self._known[source] = self._made.pop(source, None)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)


@cache
def formulas() -> Formulas:
    """The one of the program; made in the window's thread."""
    return Formulas()


def _paint(drawing: Drawing, scale: float, colour: str, ratio: float) -> QImage:
    from PySide6.QtSvg import QSvgRenderer

    width, height = drawing.width * scale, drawing.height * scale
    image = QImage(max(1, round(width * ratio)), max(1, round(height * ratio)), QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    renderer = QSvgRenderer(QByteArray(drawing.svg.replace('"black"', f'"{colour}"').encode()))
    renderer.render(painter, QRectF(0, 0, image.width(), image.height()))
    painter.end()
    image.setDevicePixelRatio(ratio)
    return image
