"""The card at the end of a turn with the files it changed: open each one, or undo all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.chat.cards.headed_card import HeadedCard
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.widgets import FlowLayout, bind, control
from atelier_desk.desktop.workspace_folders.undo_file_changes import ask_undo
from atelier_desk.presentation.file_change_text import changed_text
from atelier_desk.support.i18n import N_, ngettext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atelier_desk.domain.file_change import Change


class FilesCard(HeadedCard):
    """``changed-files``: the files a turn changed."""

    def __init__(self, host: TranscriptHost, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("changed-files")
        self._host = host
        self._changes: tuple[Change, ...] = ()
        self._more = 0
        buttons = FlowLayout()
        self.undo = control(QPushButton(self), "changed-files-undo", N_("Undo these changes"), on=self._undo)
        self.show_all = control(QPushButton(self), "changed-files-show", N_("Show the changes"), on=self._show_all)
        # In this order: the pane that "Show" opens moves the card to the left, and nothing may come under the pointer.
        buttons.addWidget(self.undo)
        buttons.addWidget(self.show_all)
        self.body.addLayout(buttons)
        bind(self._show)

    def show_changes(self, changes: Sequence[Change], more: int = 0) -> None:
        """Show a turn's changes; ``more`` of it are on pages that are not loaded."""
        self._changes, self._more = tuple(changes), more
        self._show()

    def _show(self) -> None:
        alive = [change for change in self._changes if change.undoable]
        files = changed_text(reversed(self._changes))
        undone = len(self._changes) - len(alive)
        texts = [ngettext("{n} change undone", "{n} changes undone", undone)] if undone else []
        if self._more:
            texts.append(
                ngettext(
                    "{n} more change: scroll up to load it", "{n} more changes: scroll up to load them", self._more
                )
            )
        text = " · ".join(texts)
        self.show_head("folder", "accent" if alive else "muted", files, text)
        self.setAccessibleName(". ".join(filter(None, (files, text))))
        self.undo.setVisible(bool(alive) and self._host.bridge is not None)

    def _show_all(self) -> None:
        self._host.files_requested.emit(tuple(change.id for change in self._changes))

    def _undo(self) -> None:
        if self._host.bridge is not None:
            ask_undo(self._host.bridge, self, self._changes, self._host.status_changed.emit)
