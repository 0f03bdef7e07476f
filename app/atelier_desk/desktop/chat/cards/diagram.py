"""Mermaid diagrams as pictures in the colours of the theme: no browser, no script, no network."""

from __future__ import annotations

import base64
from collections import OrderedDict

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.chat.cards.picture_view import PictureLabel
from atelier_desk.desktop.chat.markdown.drawings import drawings
from atelier_desk.desktop.chat.markdown.mermaid import SCALE
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.domain.model_messages import ImagePart
from atelier_desk.support.i18n import N_, _

_LETTERS = 16
"""Pixels of the letters in a drawing; they are shown as large as the text around it."""
CACHE_CHARACTERS = 8_000_000
"""Characters of the pictures (base64) that are remembered for cards that are made again: after a switch of the theme, on the way back."""
_known: OrderedDict[tuple[str, str], str] = OrderedDict()
"""Pictures by kind and source, the one used last at the end."""


class Diagram(QObject):
    """The diagram of one card.

    Signals:
        drawn: the source and its picture as PNG in base64, empty when it is broken or cannot be drawn.
    """

    drawn = Signal(str, str)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._source = self._kind = ""

    def start(self, source: str) -> None:
        """Draw it for the present theme."""
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
        if picture:  # one that could not be drawn is tried again: its process may have ended for another reason
            _known[kind, source] = picture
            _known.move_to_end((kind, source))
            while sum(map(len, _known.values())) > CACHE_CHARACTERS:
                _known.popitem(last=False)
        self.drawn.emit(source, picture)


class DiagramPicture(PictureLabel):
    """``result-picture`` of a diagram: no wider than its card; a press opens it large, where it can be zoomed."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(_("Diagram"), ImagePart(data="", media_type="image/png"), QPixmap(), parent)
        self._room = 0
        self.ratio = SCALE
        bind_text(self, name=N_("Diagram"), tip=N_("Enlarge"))
        self.hide()

    def show_picture(self, picture: str) -> bool:
        """Take the PNG in base64; whether it is one."""
        whole = QPixmap()
        if not whole.loadFromData(base64.b64decode(picture)):
            return False
        self._image, self._full_size = ImagePart(data=picture, media_type="image/png"), whole
        self._title = _("Diagram")
        self.fit(self._room or round(whole.width() / SCALE))
        return True

    def fit(self, width: int) -> int:
        """Take at most ``width`` pixels; the height it needs."""
        self._room = width
        shown = self._full_size.size() * (theme().px(14) / _LETTERS / SCALE)
        if shown.width() > width:
            shown = QSize(width, max(1, round(shown.height() * width / shown.width())))
        ratio = self.devicePixelRatioF()
        made = self._full_size.scaled(shown * ratio, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation)
        made.setDevicePixelRatio(ratio)
        self.setPixmap(made)
        self.setFixedHeight(shown.height())
        return shown.height()
