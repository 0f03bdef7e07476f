"""Bundled SVG icons, tinted when loaded."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from atelier_desk.desktop.theme.resource_paths_and_fonts import resource_dir

MAX_NAME = 100
"""Maximum characters of a name, which becomes that of a file."""


@cache
def _source(name: str) -> str:
    path = resource_dir() / "icons" / f"{name}.svg"
    return path.read_text(encoding="utf-8").replace('stroke-width="2"', 'stroke-width="1.9"')


def known(name: str, instead: str = "terminal") -> str:
    """``name`` if such an icon is bundled, else ``instead``: external tools and imported files may name any."""
    return name if len(name) <= MAX_NAME and name.replace("-", "").isalnum() and _there(name) else instead


@cache
def _there(name: str) -> bool:
    return (resource_dir() / "icons" / f"{name}.svg").is_file()


@cache
def _shape(name: str, size: int, ratio: float) -> QPixmap:
    """The icon in black, to be painted over with colours: rendering the file again takes ten times as long."""
    source = _source(name)  # an exception while painting would end the process
    image = QPixmap(round(size * ratio), round(size * ratio))
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(source.encode())).render(painter, QRectF(image.rect()))
    painter.end()
    return image


@cache
def pixmap(name: str, colour: str, size: int, ratio: float = 1.0) -> QPixmap:
    """The icon ``name`` in one colour, ``size`` logical pixels square.

    Raises:
        FileNotFoundError: no such icon is bundled.
    """
    image = _shape(name, size, ratio).copy()
    if "currentColor" in _source(name):  # other icons have colours of their own
        # Not ``fillRect``: its first call makes PySide's enum of 180 gradients, a hundredth of the time to first paint.
        ground = QPixmap(image.size())
        ground.fill(QColor(colour))
        painter = QPainter(image)
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
        painter.drawPixmap(0, 0, ground)
        painter.end()
    image.setDevicePixelRatio(ratio)
    return image


@cache
def tinted(name: str, colour: str, size: int, ratios: tuple[float, ...], disabled: str = "") -> QIcon:
    """An icon of ``size`` logical pixels in ``colour``, sharp at these device pixel ratios.

    ``disabled`` is its colour when disabled; otherwise Qt greys it, which suits light backgrounds only.
    """
    icon = QIcon()
    for ratio in ratios:
        icon.addPixmap(pixmap(name, colour, size, ratio))
        if disabled:
            icon.addPixmap(pixmap(name, disabled, size, ratio), QIcon.Mode.Disabled)
    return icon


@cache
def app_icon() -> QIcon:
    """The program's icon in the sizes desktops request."""
    icon = QIcon()
    for size in (16, 32, 48, 128, 256):
        icon.addPixmap(pixmap("app", "#5B5BD6", size))
    return icon
