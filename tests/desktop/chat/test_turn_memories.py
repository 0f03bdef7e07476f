"""At the end of a turn a card asks which memories to keep: for all workflows, for this one, edited, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtWidgets import QAbstractButton, QLabel, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards.proposed_memories_card import RememberedCard
from atelier_desk.desktop.chat.panel import ChatPanel
from atelier_desk.desktop.panes.memory.dialog import MemoryDialog
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.widgets.toast import Toast
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.domain.workflow import Message, MessageRole, Workflow
from atelier_desk.engine.runs.memory_extraction import ExtractionReply
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from atelier_desk.engine.services.workflows import OpenedWorkflow
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

WORKFLOW = Workflow(id="w", name="W")


def entry(id: str, run_id: str, role: MessageRole, text: str, seq: int) -> TranscriptEntry:
    kind = "queue" if role is MessageRole.USER else "reply"
    return TranscriptEntry(Message(id=id, workflow_id="w", run_id=run_id, seq=seq, role=role, kind=kind, content=text))


SAID = [
    entry("u1", "r1", MessageRole.USER, "I like it short.", 1),
    entry("a1", "r1", MessageRole.ASSISTANT, "Noted", 2),
    entry("u2", "r2", MessageRole.USER, "And?", 3),
    entry("a2", "r2", MessageRole.ASSISTANT, "Nothing", 4),
]


def memory(id: str, content: str, **facts: Any) -> Memory:
    return Memory(
        **{"id": id, "type": MemoryType.USER_PREF, "content": content, "workflow_id": "w", "turn_id": "r1", **facts}
    )


class Panel:
    """A chat with memories stored by a fake engine."""

    def __init__(self, qtbot: QtBot) -> None:
        self.stored = {
            each.id: each
            for each in (
                memory("m1", "Likes short answers.", proposed=True),
                memory("m2", "Is at work.", agent_source="Ada"),
            )
        }
        self.asked: list[tuple[str, bool]] = []
        self.deleted: dict[str, Memory] = {}
        self.looking: list[ExtractionReply] = []
        self.engine = FakeAtelier(
            workflows={"get": WORKFLOW, "opened": OpenedWorkflow(WORKFLOW, tuple(SAID), None)},
            runs={"remembering.pending_turns": lambda _turns: list(self.looking), "remembering.stop": self._stop},
            memories={
                "of_turns": lambda _turns: list(self.stored.values()),
                "accept": self._keep,
                "propose_again": lambda id, home: self._put(id, workflow_id=home, proposed=True),
                "delete": self._delete,
                "undo_delete": lambda id: self._put(id),
                "update": lambda id, **fields: self._put(id, content=fields["content"]),
            },
        )
        self.bridge = FakeBridge(self.engine)
        self.chat = ChatPanel(self.bridge)
        qtbot.addWidget(self.chat)
        self.chat.resize(800, 900)
        self.chat.show()

    def _put(self, id: str, **changes: Any) -> Memory:
        self.stored[id] = (self.stored.get(id) or self.deleted[id]).model_copy(update=changes)
        self.bridge.changed.emit("memory", id)
        return self.stored[id]

    def _keep(self, id: str, *, everywhere: bool = True, content: str | None = None) -> Memory:
        assert content == self.stored[id].content, "what was read is what the yes is for"
        self.asked.append((id, everywhere))
        return self._put(id, workflow_id=None if everywhere else "w", proposed=False)

    def _stop(self, turn_id: str) -> None:
        assert [each.turn_id for each in self.looking] == [turn_id]
        self.extract()

    def extract(self, *replies: ExtractionReply) -> None:
        """The model is being asked about these turns."""
        self.looking = list(replies)
        self.bridge.changed.emit("memory", "r1")

    def _delete(self, id: str) -> Memory:
        self.deleted[id] = self.stored.pop(id)
        self.bridge.changed.emit("memory", id)
        return self.deleted[id]

    def cards(self) -> list[RememberedCard]:
        return [card for card in self.chat.findChildren(RememberedCard, "remembered") if not card.isHidden()]

    async def press(self, name: str, row: int = 0) -> None:
        button = self.cards()[0].rows[row].findChild(QAbstractButton, name)
        assert button is not None
        assert not button.isHidden()
        button.click()
        await settle()

    async def undo(self) -> None:
        toast = [each for each in self.chat.findChildren(Toast) if not each.isHidden()][-1]
        toast.findChildren(QPushButton)[0].click()
        await settle()


@pytest.fixture
async def panel(qtbot: QtBot) -> Panel:
    made = Panel(qtbot)
    made.chat.open_workflow("w")
    await settle()
    return made


async def test_the_last_reply_of_the_turn_asks_which_memories_to_keep(panel: Panel) -> None:
    (card,) = panel.cards()
    assert card.title.text() == "1 proposed memory"
    assert [row.accessibleName() for row in card.rows] == ["Likes short answers.", "Is at work."]
    # A memory for this workflow only needs no approval.
    assert [row.keep_button.isHidden() for row in card.rows] == [False, True]


async def test_the_name_of_a_built_in_agent_follows_the_language(panel: Panel) -> None:
    panel._put("m1", agent_source="Team lead")
    await settle()

    def facts() -> list[str]:
        return [
            each.text() for row in panel.cards()[0].rows for each in row.findChildren(QLabel) if " · " in each.text()
        ]

    assert ["Team lead" in facts()[0], "Ada" in facts()[1]] == [True, True]
    switch_language("fr")
    assert ["Chef d’équipe" in facts()[0], "Ada" in facts()[1]] == [True, True]
    switch_language("en")
    assert "Team lead" in facts()[0]


@pytest.mark.parametrize(("button", "everywhere"), [("memory-keep", True), ("memory-keep-here", False)])
async def test_a_memory_is_accepted_and_undone(panel: Panel, button: str, everywhere: bool) -> None:
    await panel.press(button)
    assert panel.asked == [("m1", everywhere)]
    assert panel.cards()[0].title.text() == "2 memories saved"
    await panel.undo()
    assert panel.stored["m1"].proposed
    assert panel.cards()[0].title.text() == "1 proposed memory"


async def test_a_memory_is_rejected_and_undone(panel: Panel) -> None:
    await panel.press("memory-forget")
    assert list(panel.stored) == ["m2"]
    await panel.press("memory-forget")
    assert panel.cards() == []
    await panel.undo()
    assert list(panel.stored) == ["m2"]
    assert len(panel.cards()) == 1


async def test_a_memory_is_edited_before_it_is_accepted(panel: Panel, qtbot: QtBot) -> None:
    await panel.press("memory-edit")
    dialog = child(panel.chat, MemoryDialog)
    assert dialog is not None
    child(dialog, QPlainTextEdit, "memory-content").setPlainText("Likes answers of one line.")
    dialog.submit()
    await settle()
    assert panel.stored["m1"].content == "Likes answers of one line."
    assert panel.cards()[0].rows[0].accessibleName() == "Likes answers of one line."


async def test_asking_the_model_is_shown_and_can_be_stopped(panel: Panel) -> None:
    panel.stored.clear()
    panel.extract(ExtractionReply(turn_id="r1"))
    await settle()
    (card,) = panel.cards()
    assert (card.title.text(), card.text.text(), card.rows) == ("What to remember", "Asking the model…", [])
    assert not card.stop.isHidden()
    card.stop.click()
    await settle()
    assert panel.cards() == []


async def test_extracted_memories_are_on_the_same_card(panel: Panel) -> None:
    panel.extract(ExtractionReply(turn_id="r1"))
    await settle()
    (card,) = panel.cards()
    assert card.text.text() == "Until you decide, proposals apply to this workflow only. Asking the model…"
    panel.stored["m3"] = memory("m3", "Lives in Lyon.", proposed=True)
    panel.extract()
    await settle()
    (card,) = panel.cards()
    assert [row.accessibleName() for row in card.rows] == ["Likes short answers.", "Is at work.", "Lives in Lyon."]
    assert card.text.text() == "Until you decide, proposals apply to this workflow only."
    assert card.stop.isHidden()


async def test_a_failure_is_shown_in_muted_text(panel: Panel) -> None:
    panel.stored.clear()
    panel.extract(ExtractionReply(turn_id="r1", error="The server is away."))
    await settle()
    (card,) = panel.cards()
    assert card.text.text() == "Could not ask the model. The server is away."
    assert card.stop.isHidden()
