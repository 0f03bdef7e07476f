"""What the items of a transcript may ask of their surroundings."""

from __future__ import annotations

from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication

from app.desktop.chat.image_gate import ImageGate


class TranscriptHost(QObject):
    """One for each chat panel; items emit its signals, the panel carries them out.

    Signals:
        question_requested: open the dialog of this question.
        regenerate_requested: answer the turn of this run again.
        resend_requested: run id and new text: send an edited message as another version of its turn.
        quote_requested: put this text into the composer as a quote.
        branch_requested: show the version with this run id.
        resume_requested: run id and what to change (``{}``, ``{"raise_limits": …}`` or ``{"finish": True}``).
        stop_requested: cancel this run.
    """

    question_requested = Signal(str)
    regenerate_requested = Signal(str)
    resend_requested = Signal(str, str)
    quote_requested = Signal(str)
    branch_requested = Signal(str)
    resume_requested = Signal(str, object)
    stop_requested = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.images = ImageGate()
        self.state = HostState()

    def copy(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)


@dataclass(slots=True)
class HostState:
    """Which cards are open, kept while their widgets come and go."""

    open_calls: set[str] = field(default_factory=set)
    open_reasoning: set[str] = field(default_factory=set)
