"""Indexing progress of a project: stage, bar, current file, and Pause."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget

from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import ElidedLabel, Spinner, bind_text, control, hbox, label, vbox
from atelier_desk.domain.project import IngestStage, IngestState
from atelier_desk.presentation.project_text import RUNNING, state_word
from atelier_desk.support.i18n import N_


class IngestProgress(QWidget):
    """``ingest-progress``; hidden if nothing was indexed since the program started.

    Signals:
        pause_requested, resume_requested: the button was pressed.
    """

    pause_requested = Signal()
    resume_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("ingest-progress")
        self.state: IngestState | None = None
        self._spinner = Spinner(self)
        self.words = control(label("", "muted", self, wrap=True), "ingest-words")
        self.button = control(QPushButton(self), "ingest-pause", on=self._press)
        self.bar = control(QProgressBar(self), "ingest-bar", name=N_("Indexing progress"))
        self.bar.setTextVisible(False)
        self.path = control(ElidedLabel("", self), "ingest-path", look="small")
        row = hbox(None, self._spinner, (self.words, 1), self.button, spacing=8)
        vbox(self, row, self.bar, self.path, spacing=6)
        self.hide()

    def show_state(self, state: IngestState | None) -> None:
        """Show this state."""
        self.state = state
        self.setVisible(state is not None)
        if state is None:
            return
        running, paused = state.stage in RUNNING, state.stage is IngestStage.PAUSED
        mark(self.words, {IngestStage.FAILED: "error", IngestStage.DONE: "ok"}.get(state.stage, "muted"))
        bind_text(self.words, lambda: state_word(state))
        self._spinner.setVisible(running)
        self.bar.setVisible(running or paused)
        # A range of 0 to 0 shows activity: the total is unknown.
        self.bar.setRange(0, state.total if running else max(1, state.total))
        self.bar.setValue(state.done)
        self.path.setVisible(running and bool(state.path))
        self.path.setText(state.path)
        self.button.setVisible(running or paused or state.stage is IngestStage.FAILED)
        bind_text(self.button, N_("Pause") if running else N_("Continue") if paused else N_("Try again"))

    def _press(self) -> None:
        if self.state is not None:
            (self.pause_requested if self.state.stage in RUNNING else self.resume_requested).emit()
