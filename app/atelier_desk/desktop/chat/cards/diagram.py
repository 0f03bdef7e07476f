"""Mermaid diagrams drawn with the letters of boxes and lines: no browser, no script, no network."""

from __future__ import annotations

import contextlib
import threading

from PySide6.QtCore import QObject, Signal

LONGEST = 5_000
"""Characters of a diagram that is drawn."""


def drawn_as_text(source: str) -> str:
    """The diagram as text; empty when it is broken or of a kind that cannot be drawn so."""
    if len(source) > LONGEST:
        return ""
    try:
        import termaid

        return str(termaid.render(source)).strip("\n")
    except Exception:  # whatever a broken diagram makes of a library that expects whole ones
        return ""


class Diagram(QObject):
    """Draws on a thread of its own: a large one takes a tenth of a second.

    Signals:
        drawn: the source and its drawing, empty when there is none.
    """

    drawn = Signal(str, str)

    def start(self, source: str) -> None:
        threading.Thread(target=self._work, args=(source,), name="diagram", daemon=True).start()

    def _work(self, source: str) -> None:
        text = drawn_as_text(source)
        with contextlib.suppress(RuntimeError):  # the card is gone
            self.drawn.emit(source, text)
