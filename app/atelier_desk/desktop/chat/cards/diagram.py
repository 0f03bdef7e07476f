"""Mermaid diagrams drawn with the letters of boxes and lines: no browser, no script, no network."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from atelier_desk.desktop.chat.markdown.drawings import drawings


class Diagram(QObject):
    """The diagram of one card.

    Signals:
        drawn: the source and its drawing, empty when it is broken or of a kind that cannot be drawn so.
    """

    drawn = Signal(str, str)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._source = ""

    def start(self, source: str) -> None:
        if not self._source:
            drawings().drawn.connect(self._on_drawn)
        self._source = source
        drawings().want("diagram", source)

    def _on_drawn(self, kind: str, source: str, text: str) -> None:
        if kind == "diagram" and source == self._source:
            self.drawn.emit(source, text)
