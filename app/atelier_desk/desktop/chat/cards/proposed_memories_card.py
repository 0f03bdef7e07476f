"""The card for memories a turn proposes: accept each for all workflows or this one only, edit or reject it.

It is shown at the call that created them or at the end of the turn, also while a model is asked for more memories.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.bridge.jobs import error_text
from atelier_desk.desktop.chat.cards.headed_card import HeadedCard
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.panes.memory.dialog import MemoryDialog
from atelier_desk.desktop.panes.memory.list import TYPE_WORDS, MemoryRow
from atelier_desk.desktop.panes.pane_base import offer_undo
from atelier_desk.desktop.widgets import (
    ElidedButton,
    FlowLayout,
    IconButton,
    bind,
    bind_text,
    control,
    label,
    vbox,
)
from atelier_desk.engine.services.agent_gallery import current_name
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.domain.memory import Memory
    from atelier_desk.engine.runs.memory_extraction import ExtractionReply

SHOWN = 300
"""Characters of a memory shown in its row; Edit opens the full text."""


class RememberedRow(QWidget):
    """One memory with its scope and buttons."""

    def __init__(self, memory: Memory, card: RememberedCard) -> None:
        super().__init__(card)
        self.memory = memory
        words = visible(" ".join(memory.content.split()))
        text = label(words if len(words) <= SHOWN else words[:SHOWN] + "…", "", self, wrap=True)
        facts = bind_text(label("", "small", self, wrap=True), self._facts)
        buttons = FlowLayout(spacing=6)
        self.keep_button = control(
            ElidedButton(self),
            "memory-keep",
            N_("Keep for all workflows"),
            on=lambda: card.accept_memory(self.memory, True),
        )
        self.here = control(
            ElidedButton(self),
            "memory-keep-here",
            N_("This workflow only"),
            on=lambda: card.accept_memory(self.memory, False),
        )
        self.edit = IconButton("pencil", N_("Edit this memory"), self)
        self.forget_button = IconButton("trash-2", N_("Do not remember"), self)
        control(
            self.edit,
            "memory-edit",
            on=lambda: card.edit(memory),
            name=lambda: _("{name}: {text}", name=_("Edit this memory"), text=words[:80]),
        )
        control(
            self.forget_button,
            "memory-forget",
            on=lambda: card.reject_memory(memory),
            name=lambda: _("{name}: {text}", name=_("Do not remember"), text=words[:80]),
        )
        self.keep_button.setVisible(memory.proposed)
        self.here.setVisible(memory.proposed)
        self.setAccessibleName(words[:SHOWN])
        for widget in (self.keep_button, self.here, self.edit, self.forget_button):
            buttons.addWidget(widget)
        vbox(self, text, facts, buttons, margins=(0, 6, 0, 0), spacing=4)

    def _facts(self) -> str:
        memory = self.memory
        if memory.proposed:
            holds = _("for all workflows?")
        else:
            holds = _("for all workflows") if memory.workflow_id is None else _("for this workflow")
        return " · ".join(filter(None, (_(TYPE_WORDS[memory.type]), holds, current_name(memory.agent_source))))


class RememberedCard(HeadedCard):
    """``remembered``, with a row per memory; ``memory-stop-looking`` while a model is asked."""

    def __init__(self, host: TranscriptHost, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("remembered")
        self._host = host
        self._memories: tuple[Memory, ...] = ()
        self._extractions: tuple[ExtractionReply, ...] = ()
        self.rows: list[RememberedRow] = []
        self.stop = control(
            QPushButton(self), "memory-stop-looking", N_("Stop"), look="ghost", on=self._stop_extraction
        )
        self.head.addWidget(self.stop, 0, Qt.AlignmentFlag.AlignTop)
        self._list = QVBoxLayout()
        self._list.setSpacing(6)
        self.words.addLayout(self._list)
        bind(self._show)

    def show_memories(self, memories: Sequence[Memory], extractions: Sequence[ExtractionReply] = ()) -> None:
        """Show these memories, and whether a model is asked for more."""
        if tuple(extractions) != self._extractions:
            self._extractions = tuple(extractions)
            self._show()
        if tuple(memories) == self._memories:
            return
        self._memories = tuple(memories)
        for row in self.rows:
            self._list.removeWidget(row)
            row.hide()
            row.deleteLater()
        self.rows = [RememberedRow(memory, self) for memory in memories]
        for row in self.rows:
            self._list.addWidget(row)
            row.setEnabled(self._host.bridge is not None)
        self._show()

    def _show(self) -> None:
        asked = sum(memory.proposed for memory in self._memories)
        count = len(self._memories)
        if asked:
            title = ngettext("{n} proposed memory", "{n} proposed memories", asked)
            text = _("Until you decide, proposals apply to this workflow only.")
        elif count:
            title, text = ngettext("{n} memory saved", "{n} memories saved", count), ""
        else:
            title, text = _("What to remember"), ""
        error = self._extractions[0].error if self._extractions else ""
        if error:
            text = " ".join(filter(None, (text, _("Could not ask the model. {error}", error=error))))
        elif self._extractions:
            text = " ".join(filter(None, (text, _("Asking the model…"))))
        self.stop.setVisible(bool(self._extractions) and not error)
        self.show_head("brain", "accent" if asked else "muted", title, text)
        self.setAccessibleName(". ".join(filter(None, (title, text))))

    def _stop_extraction(self) -> None:
        bridge = self._host.bridge
        if bridge is not None and self._extractions:
            bridge.jobs.start(bridge.engine.runs.remembering.stop(self._extractions[0].turn_id))

    def accept_memory(self, memory: Memory, everywhere: bool) -> None:
        """Accept a memory: for all workflows, or for this one only."""
        bridge, home = self._host.bridge, memory.workflow_id or ""
        if bridge is None:
            return
        memories, place = bridge.engine.memories, self.parentWidget() or self

        async def job() -> None:
            await memories.accept(memory.id, everywhere=everywhere, content=memory.content)
            text = _("Remembered for all workflows") if everywhere else _("Remembered for this workflow")
            self._offer(place, text, lambda: memories.propose_again(memory.id, home))

        self._start(memory, job)

    def reject_memory(self, memory: Memory) -> None:
        """Reject a memory."""
        bridge = self._host.bridge
        if bridge is None:
            return
        memories, place = bridge.engine.memories, self.parentWidget() or self

        async def job() -> None:
            await memories.delete(memory.id)
            self._offer(place, _("Memory deleted"), lambda: memories.undo_delete(memory.id))

        self._start(memory, job)

    def edit(self, memory: Memory) -> None:
        """Edit a memory, accepted or not."""
        bridge = self._host.bridge
        if bridge is None:
            return
        dialog = MemoryDialog(MemoryRow(memory), self.window())

        async def save(fields: dict[str, object]) -> None:
            try:
                await bridge.engine.memories.update(memory.id, **fields)
            except Exception as error:
                dialog.show_error(error_text(error))
                return
            dialog.accept()

        dialog.accepted_fields.connect(lambda fields: bridge.jobs.start(save(fields), key=f"remembered {memory.id}"))
        dialog.open()

    def _start(self, memory: Memory, job: Callable[[], Coroutine[object, None, None]]) -> None:
        if self._host.bridge is not None:
            self._host.bridge.jobs.start(job(), key=f"remembered {memory.id}")

    def _offer(self, place: QWidget, message: str, undo: Callable[[], Coroutine[object, None, object]]) -> None:
        """Offer to undo, at the widget ``place``: in the inbox, the card of a decided memory is gone by then."""
        bridge = self._host.bridge
        if bridge is not None:
            offer_undo(place, message, lambda: bridge.jobs.start(undo()))
