"""The card below an incomplete reply that offers to continue it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.chat.cards.headed_card import HeadedCard
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.widgets import bind, control
from atelier_desk.presentation.rows.transcript_entries import Entry
from atelier_desk.presentation.run_notices import unfinished_text
from atelier_desk.support.i18n import N_
from atelier_desk.support.visible_and_shortened_text import visible


class UnfinishedCard(HeadedCard):
    """``unfinished-card``: the reply was cut, filtered or empty; ``reply-go-on`` is shown on the last reply only."""

    def __init__(self, entry: Entry, host: TranscriptHost, parent: QWidget) -> None:
        super().__init__(parent, "card-warn")
        self.setObjectName("unfinished-card")
        self._entry, self._host = entry, host
        self._button = control(
            QPushButton(self),
            "reply-go-on",
            N_("Continue"),
            look="primary",
            tip=N_("Continue where the model stopped"),
            name=N_("Continue the answer"),
            on=lambda: self._host.continue_requested.emit(self._entry.unfinished),
        )
        self.head.addWidget(self._button, 0, Qt.AlignmentFlag.AlignTop)
        bind(self.refresh)

    def refresh(self) -> None:
        entry = self._entry
        title, text = unfinished_text(
            entry.unfinished, content=bool(entry.content.strip()), thought=bool(entry.reasoning)
        )
        self.show_head("circle-alert", "warn", title, text)
        # A replay is read-only.
        self._button.setVisible(entry.actionable and self._host.bridge is not None)
        self.setAccessibleName(visible(f"{title}. {text}"))
