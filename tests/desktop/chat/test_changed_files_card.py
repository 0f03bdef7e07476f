"""A card at the end of a turn names the changed files and can undo the changes, as can a message's menu."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QMessageBox, QProgressDialog, QPushButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards.changed_files_card import FilesCard
from atelier_desk.desktop.chat.panel import ChatPanel
from atelier_desk.desktop.chat.transcript.view import EntryWidget
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.workspace_folders import undo_file_changes
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.file_change import Change
from atelier_desk.domain.workflow import Message, MessageRole, ToolExecution, Workflow
from atelier_desk.engine.services.file_changes_and_trust import UndoneChange
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from atelier_desk.engine.services.workflows import OpenedWorkflow
from atelier_desk.support.i18n import LANGUAGES, _
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

WHEN = datetime(2026, 11, 22, tzinfo=UTC)
WORKFLOW = Workflow(id="w", name="W", workspace=("/p",))


def change(id: str, path: str, **facts: Any) -> Change:
    return Change(
        **{
            "id": id,
            "workflow_id": "w",
            "run_id": "r1",
            "at": WHEN,
            "action": "changed",
            "root": "/p",
            "path": path,
            **facts,
        }
    )


def message(id: str, run_id: str, role: MessageRole, text: str, seq: int) -> TranscriptEntry:
    kind = "queue" if role is MessageRole.USER else "reply"
    return TranscriptEntry(Message(id=id, workflow_id="w", run_id=run_id, seq=seq, role=role, kind=kind, content=text))


SAID = [
    message("u1", "r1", MessageRole.USER, "Go", 1),
    message("a1", "r1", MessageRole.ASSISTANT, "First", 2),
    message("a2", "r1", MessageRole.ASSISTANT, "Done", 3),
    message("u2", "r2", MessageRole.USER, "And?", 4),
    message("a3", "r2", MessageRole.ASSISTANT, "Nothing", 5),
]


class Panel:
    def __init__(self, qtbot: QtBot) -> None:
        self.changes = [change("2", "src/b.py", action="created"), change("1", "a.py")]
        self.engine = FakeAtelier(
            workflows={"get": WORKFLOW, "opened": OpenedWorkflow(WORKFLOW, tuple(SAID), None)},
            files={
                "by_turn": lambda _id: {"r1": self.changes},
                "since": lambda *_: self.changes,
                "trusted": {"/p": True},
                "undo": lambda _id, ids, force=False: [UndoneChange(each) for each in self.changes if each.id in ids],
            },
        )
        self.chat = ChatPanel(FakeBridge(self.engine))
        qtbot.addWidget(self.chat)
        self.chat.resize(800, 900)
        self.chat.show()

    def cards(self) -> list[FilesCard]:
        return [card for card in self.chat.findChildren(FilesCard, "changed-files") if not card.isHidden()]

    def press(self, name: str) -> None:
        found = [each for each in self.chat.findChildren(QPushButton, name) if not each.isHidden()]
        found[-1].click()


@pytest.fixture
async def panel(qtbot: QtBot) -> Panel:
    made = Panel(qtbot)
    made.chat.open_workflow("w")
    await settle()
    return made


async def test_the_last_reply_of_the_turn_names_the_files(panel: Panel) -> None:
    (card,) = panel.cards()
    assert card.title.text() == "Changed files: a.py, src/b.py"
    message = card.parent()
    assert isinstance(message, EntryWidget)
    assert message.entry.id == "a2"
    shown: list[tuple[str, ...]] = []
    panel.chat.host.files_requested.connect(shown.append)
    panel.press("changed-files-show")
    assert shown == [("2", "1")]


def reply(id: str, seq: int, minute: int, call_id: str) -> TranscriptEntry:
    entry = message(id, "r1", MessageRole.ASSISTANT, id, seq)
    when = WHEN.replace(minute=minute)
    call = ToolExecution(id=f"r1:{call_id}", workflow_id="w", run_id="r1", call_id=call_id, tool="x", status="ok")
    return TranscriptEntry(entry.message.model_copy(update={"created_at": when}), (call,))


TWO_MESSAGES_OF_A_RUN = (
    message("u1", "r1", MessageRole.USER, "Write the notes", 1),
    reply("a1", 2, 1, "c1"),
    message("u2", "r1", MessageRole.USER, "Delete the notes", 3),
    reply("a2", 4, 5, "c2"),
)
THEIR_CHANGES = [
    change("4", "sub2.md", run_id="sub", call_id="c1", at=WHEN.replace(minute=6)),
    change("3", "note1.md", action="deleted", call_id="c2", at=WHEN.replace(minute=6)),
    change("2", "sub1.md", run_id="sub", call_id="c2", at=WHEN.replace(minute=2)),
    change("1", "note1.md", action="created", call_id="c1", at=WHEN.replace(minute=2)),
]


def titles(panel: Panel) -> dict[str, str]:
    """By id of the reply, the title of the card below it."""
    return {card.parent().entry.id: card.title.text() for card in panel.cards()}  # type: ignore[union-attr]


async def test_a_message_sent_while_the_run_worked_has_its_own_card_and_undo(qtbot: QtBot) -> None:
    panel = Panel(qtbot)
    panel.engine.set("workflows", "opened", OpenedWorkflow(WORKFLOW, TWO_MESSAGES_OF_A_RUN, None))
    panel.changes = THEIR_CHANGES
    panel.chat.open_workflow("w")
    await settle()
    assert titles(panel) == {"a1": "Changed files: note1.md, sub1.md", "a2": "Changed files: note1.md, sub2.md"}
    next(card for card in panel.cards() if "sub2.md" in card.title.text()).undo.click()
    assert confirmation(panel).text() == "Undo changes to 2 files?"
    panel.press("confirm-yes")
    await settle()
    assert panel.engine.calls("files.undo") == [(("w", ("4", "3")), {"force": False})], "not what was written before"


async def test_a_sub_agents_change_is_shown_with_the_message_for_which_it_was_started(qtbot: QtBot) -> None:
    started = AgentNode("sub", "Ada", "w", "r1", parent_run_id="r1", parent_call_id="c1")
    below = AgentNode("below", "Bob", "w", "r1", parent_run_id="sub", parent_call_id="c2")
    u1, a1, u2, a2 = TWO_MESSAGES_OF_A_RUN
    a1 = replace(a1, children={"c1": (replace(started, children=(below,)),)})
    panel = Panel(qtbot)
    panel.engine.set("workflows", "opened", OpenedWorkflow(WORKFLOW, (u1, a1, u2, a2), None))
    later = WHEN.replace(minute=6)
    panel.changes = [
        change("3", "new.md", call_id="c2", at=later),
        change("2", "below.md", run_id="below", call_id="c2", at=later),
        change("1", "sub.md", run_id="sub", call_id="c2", at=later),
    ]
    panel.chat.open_workflow("w")
    await settle()
    assert titles(panel) == {"a1": "Changed files: sub.md, below.md", "a2": "Changed file: new.md"}


def older_page(panel: Panel, *stored: TranscriptEntry) -> asyncio.Event:
    """The page above, which is read once the event is set."""
    page_read = asyncio.Event()

    async def older(*_: object, **__: object) -> tuple[TranscriptEntry, ...]:
        await page_read.wait()
        return stored

    panel.engine.set("workflows", "transcript", older)
    return page_read


async def test_changes_for_a_message_on_an_older_page_are_shown_with_it_not_below_a_later_reply(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atelier_desk.desktop.chat.transcript.page_reader.PAGE", 2)
    panel = Panel(qtbot)
    page_read = older_page(panel, *TWO_MESSAGES_OF_A_RUN[:2])
    panel.engine.set("workflows", "opened", OpenedWorkflow(WORKFLOW, TWO_MESSAGES_OF_A_RUN[2:], None))
    panel.changes = THEIR_CHANGES
    panel.chat.open_workflow("w")
    await settle()
    assert titles(panel) == {"a2": "Changed files: note1.md, sub2.md"}
    panel.press("changed-files-undo")
    panel.press("confirm-yes")
    await settle()
    assert panel.engine.calls("files.undo") == [(("w", ("4", "3")), {"force": False})], "not what was written before"
    panel.chat.view.older_requested.emit()
    page_read.set()
    await settle()
    assert titles(panel) == {"a1": "Changed files: note1.md, sub1.md", "a2": "Changed files: note1.md, sub2.md"}


async def test_a_change_by_a_call_on_an_older_page_waits_for_that_page_whatever_its_date(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command started for the first message may write after the reply to the second began."""
    monkeypatch.setattr("atelier_desk.desktop.chat.transcript.page_reader.PAGE", 2)
    panel = Panel(qtbot)
    panel.engine.set("workflows", "opened", OpenedWorkflow(WORKFLOW, TWO_MESSAGES_OF_A_RUN[2:], None))
    page_read = older_page(panel, *TWO_MESSAGES_OF_A_RUN[:2])
    panel.changes = [
        change("2", "late.md", call_id="c1", at=WHEN.replace(minute=7)),
        change("1", "note1.md", action="deleted", call_id="c2", at=WHEN.replace(minute=6)),
    ]
    panel.chat.open_workflow("w")
    await settle()
    assert titles(panel) == {"a2": "Deleted file: note1.md"}
    assert "more" not in panel.cards()[0].accessibleName(), "all that was changed for its message is there"
    panel.chat.view.older_requested.emit()
    page_read.set()
    await settle()
    assert titles(panel) == {"a1": "Changed file: late.md", "a2": "Deleted file: note1.md"}


async def test_a_card_says_that_more_changes_of_its_message_are_on_an_older_page(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atelier_desk.desktop.chat.transcript.page_reader.PAGE", 2)
    panel = Panel(qtbot)
    first = (message("u1", "r1", MessageRole.USER, "Write four notes", 1), reply("a1", 2, 1, "c1"))
    last = (reply("a2", 3, 2, "c2"), reply("a3", 4, 3, "c3"))
    panel.engine.set("workflows", "opened", OpenedWorkflow(WORKFLOW, last, None))
    page_read = older_page(panel, *first)
    panel.changes = [
        change(str(n), f"{n}.md", call_id=f"c{max(1, n - 1)}", at=WHEN.replace(minute=max(1, n - 1)))
        for n in (4, 3, 2, 1)
    ]
    panel.chat.open_workflow("w")
    await settle()
    (card,) = panel.cards()
    assert card.title.text() == "Changed files: 3.md, 4.md"
    assert "2 more changes: scroll up to load them" in card.accessibleName()
    panel.chat.view.older_requested.emit()
    page_read.set()
    await settle()
    (card,) = panel.cards()
    assert card.title.text() == "Changed files: 1.md, 2.md, 3.md, 4.md"
    assert "more" not in card.accessibleName()


async def test_the_card_of_a_turn_that_only_deleted_says_deleted(panel: Panel) -> None:
    (card,) = panel.cards()
    gone = change("1", "a.py", action="deleted")
    card.show_changes([gone])
    assert card.title.text() == "Deleted file: a.py"
    card.show_changes([change(str(n), f"{n}.py", action="deleted") for n in range(7)])
    assert card.title.text() == "Deleted files: 6.py, 5.py, 4.py, 3.py, 2.py and 2 others"
    card.show_changes([gone, change("2", "b.py")])
    assert card.title.text() == "Changed files: b.py, a.py"


async def test_undo_does_not_come_under_the_pointer_when_a_pane_moves_the_card_to_the_left(panel: Panel) -> None:
    panel.chat.resize(1500, 900)
    await settle()
    (card,) = panel.cards()
    at = card.show_all.mapTo(panel.chat, card.show_all.rect().center())
    for width in range(1490, 600, -10):
        panel.chat.resize(width, 900)
        await settle(2)
        undo = QRect(card.undo.mapTo(panel.chat, QPoint()), card.undo.size())
        assert not undo.contains(at), width


async def test_undo_and_cancel_have_different_labels_in_every_language(panel: Panel) -> None:
    """In French both verbs are « Annuler », so the sheet had two buttons with the same label."""
    for language in LANGUAGES:
        switch_language(language)
        panel.press("changed-files-undo")
        box = next(each for each in panel.chat.findChildren(QMessageBox) if each.isVisible())
        words = {button.text().replace("&", "") for button in box.buttons()}
        assert len(words) == 2
        assert _("Cancel") not in words
        child(box, QPushButton, "confirm-no").click()
        await settle()
    assert panel.engine.calls("files.undo") == []


async def test_two_changes_of_one_file_count_as_one_file(panel: Panel) -> None:
    panel.cards()[0].show_changes([change("2", "a.py"), change("1", "a.py", action="created")])
    panel.press("changed-files-undo")
    box = next(each for each in panel.chat.findChildren(QMessageBox) if each.isVisible())
    assert box.text() == "Undo changes to 1 file?"
    assert "2 changes will be undone" in box.informativeText(), "the number that is reported afterwards"


async def test_the_complete_turn_is_undone_after_confirmation_and_the_card_shows_it(panel: Panel) -> None:
    panel.press("changed-files-undo")
    assert panel.engine.calls("files.undo") == [], "it is named first"
    panel.changes = [each.model_copy(update={"undone_by": "x"}) for each in panel.changes]
    panel.press("confirm-yes")
    await settle()
    assert panel.engine.calls("files.undo") == [(("w", ("2", "1")), {"force": False})]
    panel.chat.bridge.changed.emit("file", "w")
    await settle()
    (card,) = panel.cards()
    assert card.text.text() == "2 changes undone"
    assert card.undo.isHidden()


async def test_undoing_a_command_warns_of_effects_that_stay(panel: Panel) -> None:
    panel.press("changed-files-undo")
    assert "Commands" not in confirmation(panel).informativeText()
    confirmation(panel).reject()
    panel.changes = [panel.changes[0].model_copy(update={"command": True}), panel.changes[1]]
    panel.chat.bridge.changed.emit("file", "w")
    await settle()
    panel.press("changed-files-undo")
    assert "What they did elsewhere (in other folders" in confirmation(panel).informativeText()


def confirmation(panel: Panel) -> QMessageBox:
    (box,) = [each for each in panel.chat.findChildren(QMessageBox) if each.isVisible()]
    return box


async def test_conflicting_changes_are_named_and_both_choices_offered(panel: Panel) -> None:
    problem = ConflictError("{path} was changed by somebody else since.", path="a.py")
    panel.engine.set(
        "files", "undo", lambda _id, ids, force=False: [UndoneChange(panel.changes[1], None if force else problem)]
    )
    panel.press("changed-files-undo")
    panel.press("confirm-yes")
    await settle()
    box = panel.chat.findChild(QMessageBox, "undo-both")
    assert isinstance(box, QMessageBox)
    assert "a.py was changed by somebody else" in box.informativeText()
    panel.press("undo-anyway")
    await settle()
    assert panel.engine.calls("files.undo")[-1] == (("w", ("1",)), {"force": True})


async def test_the_menu_of_a_message_undoes_all_later_changes(panel: Panel) -> None:
    entry = panel.chat.view.entries[0]
    menu = panel.chat.commands.popup(
        entry, panel.chat.host, panel.chat, panel.chat.mapToGlobal(panel.chat.rect().center())
    )
    next(each for each in menu.actions() if each.objectName() == "message-undo-files").trigger()
    menu.close()
    await settle()
    assert panel.engine.calls("files.since") == [(("w", "u1"), {})]
    panel.press("confirm-yes")
    await settle()
    assert panel.engine.calls("files.undo") == [(("w", ("2", "1")), {"force": False})]


async def test_a_long_undo_shows_progress_and_can_be_stopped(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo_file_changes, "SHOWN_AFTER_MS", 0)
    monkeypatch.setattr("atelier_desk.domain.file_change.UNDONE_AT_ONCE", 2)
    panel.changes = [change(str(number), f"f{number}") for number in range(5, 0, -1)]
    seen: list[tuple[int, int, bool]] = []

    def undo(_id: str, ids: tuple[str, ...], force: bool = False) -> list[UndoneChange]:
        box = panel.chat.window().findChild(QProgressDialog, "undo-progress")
        assert isinstance(box, QProgressDialog)
        seen.append((box.value(), box.maximum(), box.isVisible()))
        if len(seen) == 2:
            box.canceled.emit()
        return [UndoneChange(each) for each in panel.changes if each.id in ids]

    panel.engine.set("files", "undo", undo)
    messages: list[str] = []
    panel.chat.host.status_changed.connect(messages.append)
    panel.chat.bridge.changed.emit("file", "w")
    await settle()
    panel.press("changed-files-undo")
    panel.press("confirm-yes")
    await settle()
    assert [args[1] for args, _ in panel.engine.calls("files.undo")] == [("5", "4"), ("3", "2")], (
        "the newest first; the oldest stays"
    )
    assert seen[1] == (2, 5, True)
    assert messages == ["4 changes undone"]
    assert panel.chat.window().findChild(QProgressDialog, "undo-progress") is None
