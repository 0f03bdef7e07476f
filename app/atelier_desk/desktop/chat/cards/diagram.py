"""Mermaid diagrams as images in the theme's colours, drawn without browser, script or network."""

from __future__ import annotations

import base64
from collections import OrderedDict

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.chat.cards.picture_view import PictureLabel
from atelier_desk.desktop.chat.markdown.draw_client import drawings
from atelier_desk.desktop.chat.markdown.draw_process import SCALE
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.domain.model_messages import ImagePart
from atelier_desk.support.i18n import N_, _

_LETTERS = 16
"""Font size in pixels in a drawing; drawings are scaled so that it matches the surrounding text."""
CACHE_CHARACTERS = 8_000_000
"""Characters of images (base64) cached for cards that are rebuilt, for example after a theme change."""
_known: OrderedDict[tuple[str, str], str] = OrderedDict()
"""Images by kind and source, the most recently used last."""


class Diagram(QObject):
    """The diagram of one card.

    Signals:
        drawn: the source, and its image as PNG in base64; empty if it is invalid or cannot be drawn.
    """

    drawn = Signal(str, str)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._source = self._kind = ""

    def start(self, source: str) -> None:
        """Draw a diagram for the current theme."""
        if not self._source:
            drawings().drawn.connect(self._on_drawn)
        kind = "dark diagram" if theme().tokens.name == "dark" else "diagram"
        if (kind, source) == (self._kind, self._source):
            return
        self._kind, self._source = kind, source
        if (kind, source) in _known:
            self._on_drawn(kind, source, _known[kind, source])
        else:
            drawings().want(kind, source)

    def _on_drawn(self, kind: str, source: str, picture: str) -> None:
        if (kind, source) != (self._kind, self._source):
            return
        if picture:  # failures are not cached: the drawing process may have ended for another reason
            _known[kind, source] = picture
            _known.move_to_end((kind, source))
            while sum(map(len, _known.values())) > CACHE_CHARACTERS:
                _known.popitem(last=False)
        self.drawn.emit(source, picture)


class DiagramPicture(PictureLabel):
    """``result-picture`` of a diagram: at most as wide as its card; a click opens it in a zoomable dialog."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(_("Diagram"), ImagePart(data="", media_type="image/png"), QPixmap(), parent)
        self._room = 0
        self.ratio = SCALE
        bind_text(self, name=N_("Diagram"), tip=N_("Enlarge"))
        self.hide()

    def show_picture(self, picture: str) -> bool:
        """Show a PNG in base64; returns whether it is valid."""
        full = QPixmap()
        if not full.loadFromData(base64.b64decode(picture)):
            return False
        self._image, self._full_size = ImagePart(data=picture, media_type="image/png"), full
        self._title = _("Diagram")
        self.fit(self._room or round(full.width() / SCALE))
        return True

    def fit(self, width: int) -> int:
        """Fit into ``width`` pixels; returns the height."""
        self._room = width
        shown = self._full_size.size() * (theme().px(14) / _LETTERS / SCALE)
        if shown.width() > width:
            shown = QSize(width, max(1, round(shown.height() * width / shown.width())))
        ratio = self.devicePixelRatioF()
        made = self._full_size.scaled(
            shown * ratio, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
        )
        made.setDevicePixelRatio(ratio)
        self.setPixmap(made)
        self.setFixedHeight(shown.height())
        return shown.height()
