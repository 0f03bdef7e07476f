"""The chat panel with a fake engine: open, send, stream, stop, steer, find."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat import message_actions
from atelier_desk.desktop.chat.cards.tool_card import ToolCard
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.workflow import Message, MessageRole, Run, RunMode, RunStatus, Workflow
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from atelier_desk.presentation.rows.transcript_entries import Call, Entry, EntryKind
from tests.desktop.chat.panel_harness import PanelHarness
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import DelayedResult, settle


@pytest.fixture
def harness(qtbot: QtBot) -> PanelHarness:
    return PanelHarness(qtbot)


async def test_a_workflow_is_shown_with_its_draft_agent_and_usage(harness: PanelHarness) -> None:
    await harness.open()
    panel = harness.panel
    assert harness.texts == ["Question", "Answer"]
    assert panel.composer.field.toPlainText() == "unsent"
    assert panel.header.title.text() == "First"
    assert panel.header.agents.full_text == "Ada"
    assert panel.header.models.full_text == "m"
    assert "$0.50" in panel.header.usage.text()
    assert "50%" in panel.header.usage.text()
    assert panel.findChild(QWidget, "user-message") is not None
    assert panel.findChild(QWidget, "assistant-message") is not None
    assert harness.bridge.errors == []


async def test_sending_shows_the_message_at_once_and_streams_the_answer(harness: PanelHarness) -> None:
    await harness.open()
    harness.panel.composer.field.setPlainText("Next?")
    QTest.mouseClick(harness.panel.composer.send, Qt.MouseButton.LeftButton)
    await settle()
    ((args, kwargs),) = harness.engine.calls("runs.send")
    assert args == ("w1", "Next?")
    assert kwargs["agent_id"] == "Ada"
    assert kwargs["strategy"].value == "queue"
    assert harness.texts == ["Question", "Answer", "Next?"]
    harness.event("workflow_start")
    assert not harness.panel.composer.stop.isHidden()
    harness.event("message", message_id="u2", role="user", content="Next?")
    harness.event("token", content="It ", message_id="a2")
    harness.event("token", content="is.", message_id="a2")
    assert harness.texts == ["Question", "Answer", "Next?", "It is."]
    harness.event("message", message_id="a2", role="assistant", content="It is.")
    harness.event(
        "usage",
        tokens_input=1,
        tokens_output=1,
        cost=0,
        context_tokens=100,
        context_window=1000,
        workflow={"tokens_input": 5000},
    )
    harness.event("workflow_complete", status="completed")
    assert harness.panel.composer.stop.isHidden()
    assert "5.0" in harness.panel.header.usage.text()
    assert harness.engine.calls("workflows.set_draft")[-1] == (("w1", ""), {})


async def test_the_first_message_creates_a_workflow(harness: PanelHarness) -> None:
    await harness.panel.choices.load()
    harness.panel.close_workflow()
    made: list[str] = []
    harness.panel.workflow_made.connect(made.append)
    harness.panel.composer.field.setPlainText("Begin")
    harness.panel.composer.submit()
    await settle()
    assert made == ["w2"]
    assert harness.engine.calls("runs.send")[0][0] == ("w2", "Begin")


async def test_a_refused_message_is_restored_in_the_composer(harness: PanelHarness) -> None:
    await harness.open()
    harness.engine.set("runs", "send", UsageError("no"))
    harness.panel.composer.field.setPlainText("Please")
    harness.panel.composer.submit()
    await settle()
    assert harness.texts == ["Question", "Answer"]
    assert harness.panel.composer.field.toPlainText() == "Please"
    assert harness.bridge.errors == ["no"]


async def test_another_model_is_stored_with_the_workflow_before_the_message_is_sent(harness: PanelHarness) -> None:
    await harness.open()
    harness.panel.header.models.chosen.emit("p/big")
    assert harness.panel.header.models.full_text == "big"
    harness.panel.composer.field.setPlainText("x")
    harness.panel.composer.submit()
    await settle()
    ((args, fields),) = harness.engine.calls("workflows.choose")
    assert (args[0], args[1].provider, args[1].model, fields) == ("w1", "p", "big", {"agent_id": "Ada"})
    order = [name for name, _args, _fields in harness.engine.log if name in {"workflows.choose", "runs.send"}]
    assert order == ["workflows.choose", "runs.send"]


async def test_a_new_workflow_is_created_with_the_picked_model(harness: PanelHarness) -> None:
    await harness.open()
    harness.panel.close_workflow()
    harness.panel.header.models.chosen.emit("p/big")
    harness.panel.composer.field.setPlainText("x")
    harness.panel.composer.submit()
    await settle()
    assert harness.engine.calls("workflows.create")[0][1]["choices"].model == "big"


async def test_the_picker_shows_the_chosen_model_not_the_name_in_replies(harness: PanelHarness) -> None:
    harness.rows[1] = harness.rows[1].model_copy(update={"model": "big"})
    await harness.open()
    assert harness.panel.header.models.full_text == "m"


async def test_a_choice_the_engine_refuses_is_reverted(harness: PanelHarness) -> None:
    await harness.open()
    harness.engine.set("workflows", "choose", UsageError("no such model"))
    harness.panel.header.models.chosen.emit("p/big")
    await settle()
    assert harness.panel.header.models.full_text == "m"
    assert harness.bridge.errors == ["no such model"]


async def test_another_agent_is_stored_in_the_workflow(harness: PanelHarness) -> None:
    await harness.open()
    harness.panel.header.models.chosen.emit("p/big")
    harness.panel.header.agents.chosen.emit("Bob")
    await settle()
    args, fields = harness.engine.calls("workflows.choose")[-1]
    assert (args[0], args[1].model, fields) == ("w1", "", {"agent_id": "Bob"})
    assert harness.panel.composer.field.placeholderText().startswith("Message Bob")
    assert harness.panel.header.models.full_text == "m"


async def test_stop_cancels_loading_a_prompt_and_restores_the_message(harness: PanelHarness) -> None:
    stopped = asyncio.Event()

    async def refused(*_args: Any, **_fields: Any) -> str:
        await stopped.wait()
        raise UsageError("You stopped waiting.")

    harness.engine.set("runs", "send", refused)
    await harness.open()
    composer = harness.panel.composer
    composer.set_draft("/made:poem topic=sea")
    composer.send.click()
    await settle()
    assert not composer.stop.isHidden()
    composer.stop.click()
    await settle()
    assert harness.engine.calls("mcp.content.stop_waiting") == [((), {})]
    assert harness.engine.calls("workflows.stop") == []
    stopped.set()
    await settle()
    assert composer.stop.isHidden()
    assert composer.field.toPlainText() == "/made:poem topic=sea"


async def test_stop_cancels_the_run(harness: PanelHarness) -> None:
    await harness.open()
    harness.event("workflow_start", run_id="r9")
    harness.panel.composer.stop.click()
    await settle()
    assert harness.engine.calls("workflows.stop") == [(("w1",), {})]


async def test_a_draft_is_saved_before_another_workflow_is_shown(harness: PanelHarness) -> None:
    await harness.open()
    harness.panel.composer.field.insertPlainText(" more")
    harness.panel.open_workflow("other")
    await settle()
    assert (("w1", "unsent more"), {}) in harness.engine.calls("workflows.set_draft")
    assert harness.panel.composer.field.toPlainText() == ""


async def test_typing_while_a_message_is_sent_does_not_change_it(harness: PanelHarness) -> None:
    """Everything is read when the message is sent: text, agent, destination."""
    await harness.open()
    sending = DelayedResult()
    harness.engine.set("runs", "send", sending)
    harness.panel.composer.field.setPlainText("As it was")
    harness.panel.composer.submit()
    harness.panel.composer.field.setPlainText("typed meanwhile")
    harness.panel.sending.stepping = True
    harness.panel.choices._agent_id = "Bob"
    await settle()
    ((to, text), options) = harness.engine.calls("runs.send")[0]
    assert (to, text, options["agent_id"], options["mode"]) == ("w1", "As it was", "Ada", RunMode.AUTO)
    await sending.release()
    assert harness.panel.composer.field.toPlainText() == "typed meanwhile"
    assert harness.engine.calls("workflows.set_draft")[-1] == (("w1", "typed meanwhile"), {})


async def test_a_message_goes_to_its_workflow_even_if_another_is_opened_at_once(harness: PanelHarness) -> None:
    await harness.open()
    harness.panel.composer.field.setPlainText("For the first")
    harness.panel.composer.submit()
    harness.panel.open_workflow("other")
    await settle(30)
    assert harness.engine.calls("runs.send")[0][0] == ("w1", "For the first")
    assert harness.texts == []


async def test_a_draft_is_never_stored_for_another_workflow(harness: PanelHarness) -> None:
    """The user switches while the engine processes the message: the composer then shows another workflow's draft."""
    drafts = {"w1": "", "other": "of the other"}
    harness.engine.set("workflows", "get", lambda key: Workflow(id=key, name=key, draft=drafts[key]))
    harness.engine.set("workflows", "set_draft", drafts.__setitem__)
    await harness.open()
    sending = DelayedResult()
    harness.engine.set("runs", "send", sending)
    harness.panel.composer.field.setPlainText("Go")
    harness.panel.composer.submit()
    await settle()
    harness.panel.open_workflow("other")
    await settle()
    assert harness.panel.composer.field.toPlainText() == "of the other"
    await sending.release()
    assert drafts == {"w1": "", "other": "of the other"}
    harness.panel.open_workflow("w1")
    harness.panel.open_workflow("other")
    harness.panel.composer.field.insertPlainText("! ")
    harness.panel.open_workflow("w1")
    await settle(30)
    assert drafts == {"w1": "", "other": "of the other! "}


async def test_a_message_refused_after_a_switch_is_saved_for_its_own_workflow(harness: PanelHarness) -> None:
    drafts = {"w1": "", "other": "of the other"}
    harness.engine.set("workflows", "get", lambda key: Workflow(id=key, name=key, draft=drafts[key]))
    harness.engine.set("workflows", "set_draft", drafts.__setitem__)
    await harness.open()
    refusing = asyncio.Event()

    async def send(*_args: Any, **_fields: Any) -> str:
        await refusing.wait()
        raise UsageError("no")

    harness.engine.set("runs", "send", send)
    harness.panel.composer.field.setPlainText("Please")
    harness.panel.composer.submit()
    await settle()
    harness.panel.open_workflow("other")
    await settle()
    refusing.set()
    await settle()
    assert drafts == {"w1": "Please", "other": "of the other"}
    assert harness.panel.composer.field.toPlainText() == "of the other"


async def test_events_of_other_workflows_wait_until_they_are_shown(harness: PanelHarness) -> None:
    await harness.open()
    harness.event("workflow_start", workflow_id="other")
    harness.event("token", workflow_id="other", content="Hidden", message_id="x")
    assert "Hidden" not in harness.texts
    harness.panel.open_workflow("other")
    await settle()
    assert harness.texts == ["Hidden"]
    assert harness.panel.workflow_id == "other"


async def test_steering_messages_are_sent_to_the_engine(harness: PanelHarness) -> None:
    await harness.open()
    host = harness.panel.host
    host.resume_requested.emit("r1", {"finish": True})
    host.regenerate_requested.emit("r1", "m2")
    host.resend_requested.emit("r1", "m1", "Better question")
    host.branch_requested.emit("r0")
    host.stop_requested.emit("r1")
    await settle(30)
    assert harness.engine.calls("runs.steering.resume") == [(("r1",), {"finish": True})]
    assert harness.engine.calls("runs.regenerate") == [(("w1", "r1", "m2"), {})]
    assert harness.engine.calls("runs.edit_and_resend") == [(("w1", "r1", "Better question", "m1"), {})]
    assert harness.engine.calls("workflows.select_branch") == [(("w1", "r0"), {})]
    assert harness.engine.calls("runs.cancel") == [(("r1",), {})]


async def test_a_failed_turn_is_asked_of_the_model_picked_since(harness: PanelHarness) -> None:
    details = {"code": "busy", "agent_id": "Ada", "model_provider": "p", "model": "m"}
    harness.rows[1:] = [
        Message(id="e1", workflow_id="w1", run_id="r1", seq=2, role=MessageRole.NOTICE, kind="error", details=details)
    ]
    await harness.open()
    entry = harness.panel.view.entries[-1]
    entry.actionable = True
    harness.panel.pages.changed.emit([("update", entry)])
    harness.panel.header.model_chosen.emit("p/big")
    widget = harness.panel.view.widget_of(entry)
    assert widget is not None
    child(widget, QPushButton, "notice-ask-picked").click()
    await settle(30)
    assert harness.engine.calls("runs.regenerate") == [(("w1", "r1"), {"provider": "p", "model": "big"})]


async def test_a_stopped_reply_is_continued_by_an_ordinary_message(harness: PanelHarness) -> None:
    await harness.open()
    harness.event("workflow_start")
    harness.event("message", message_id="a2", role="assistant", content="par", cut_off=True)
    harness.event("run_status", status="cancelled", message_id="end")
    await settle(30)
    widget = harness.panel.view.widget_of(harness.panel.view.entries[-1])
    assert widget is not None
    child(widget, QPushButton, "notice-continue-reply").click()
    await settle(30)
    assert not widget.findChildren(QPushButton, "notice-continue-reply"), "a second click would send it twice"
    sent = [args[:2] for args, _options in harness.engine.calls("runs.send")]
    assert sent == [("w1", "Continue exactly where you stopped.")]


@pytest.mark.parametrize(("effect", "warnings"), [("write", 1), ("read", 0)])
async def test_regenerating_a_turn_warns_of_changes_its_calls_made(
    harness: PanelHarness, effect: str, warnings: int
) -> None:
    await harness.open()
    messages: list[str] = []
    harness.panel.sending.status_changed.connect(messages.append)
    calls = [Call(f"c{status}", "WriteFileTool", status=status, effect=effect) for status in ("ok", "rejected")]
    harness.panel.view.set_entries(
        [Entry("a", "assistant", run_id="r1", calls=calls), Entry("b", "assistant", run_id="r2", calls=calls)]
    )
    harness.panel.host.resend_requested.emit("r1", "m1", "Better question")
    await settle(30)
    text = "1 call in the earlier answer changed something. The change is kept, and the new answer may repeat it."
    assert messages == [text] * warnings


async def test_editing_a_message_within_a_turn_names_the_messages_sent_again_with_it(harness: PanelHarness) -> None:
    await harness.open()
    messages: list[str] = []
    harness.panel.sending.status_changed.connect(messages.append)
    kinds: tuple[EntryKind, ...] = ("user", "assistant", "user", "assistant")
    harness.panel.view.set_entries([Entry(f"m{n}", kind, run_id="r1", content=str(n)) for n, kind in enumerate(kinds)])
    notes: dict[str, QLabel] = {}
    for entry in harness.panel.view.entries[::2]:
        harness.panel.commands.edit(entry)
        widget = harness.panel.view.widget_of(entry)
        assert widget is not None
        notes[entry.id] = child(widget, QLabel, "edit-again")
    words = "1 earlier message of this turn will also be resent and answered again."
    assert [note.text() for note in notes.values()] == ["", words]
    assert [note.isVisible() for note in notes.values()] == [False, True]
    assert harness.panel.host.resend_text("r1", "m1") == ""
    harness.panel.host.regenerate_requested.emit("r1", "m3")
    await settle(30)
    assert messages == [words]


async def test_find_searches_older_pages_too(harness: PanelHarness) -> None:
    old = [
        Message(id=f"o{i}", workflow_id="w1", run_id="r0", seq=i, role=MessageRole.USER, content=f"needle {i}")
        for i in range(1, 51)
    ]
    new = [
        Message(id=f"n{i}", workflow_id="w1", run_id="r1", seq=i, role=MessageRole.USER, content="hay")
        for i in range(51, 151)
    ]
    pages = {None: new, 51: old}
    harness.engine.set(
        "workflows",
        "transcript",
        lambda key, before=None, limit=0: [TranscriptEntry(row) for row in pages.get(before, [])],
    )
    await harness.open()
    harness.panel.find_bar.enter()
    harness.panel.find_bar.field.setText("NEEDLE")
    harness.panel.find_bar.needle_changed.emit("NEEDLE")
    await settle(40)
    assert len(harness.texts) == 150
    assert harness.panel.find_bar.count.text().startswith("50 / 50")
    harness.panel.find_bar.step(1)
    assert harness.panel.find_bar.count.text().startswith("1 / 50")
    harness.panel.find_bar.leave()
    assert harness.panel.find_bar.isHidden()


@pytest.mark.parametrize(
    ("status", "kind"), [(RunStatus.PAUSED, "limit_reached"), (RunStatus.INTERRUPTED, "run_interrupted")]
)
async def test_a_paused_run_is_shown_with_its_decision(harness: PanelHarness, status: RunStatus, kind: str) -> None:
    harness.engine.run = Run(id="r1", workflow_id="w1", status=status)
    harness.workflow = harness.workflow.model_copy(update={"head_run_id": "r1"})
    details = {"limit": "cost", "ended": "killed"}
    harness.rows.append(
        Message(id="n", workflow_id="w1", run_id="r1", seq=3, role=MessageRole.NOTICE, kind=kind, details=details)
    )
    await harness.open()
    assert harness.panel.view.entries[-1].actionable
    assert harness.panel.composer.stop.isHidden() is (status is RunStatus.INTERRUPTED)
    assert harness.panel.header.state.isHidden() is (status is RunStatus.PAUSED)
    assert harness.panel.header.state.text() == "interrupted"
    harness.event("run_status", run_id="r1", status="processing")
    await settle()
    assert harness.panel.header.state.isHidden()


async def test_text_typed_while_the_first_workflow_loads_stays(harness: PanelHarness) -> None:
    """At a start on a busy machine the window accepts keys seconds before the last workflow is loaded."""
    await harness.panel.choices.load()
    reading = DelayedResult(harness.workflow)
    harness.engine.set("workflows", "get", reading)
    harness.panel.open_workflow("w1")
    await settle()
    harness.panel.composer.field.setPlainText("typed early")
    harness.panel.sending.save_draft()
    assert harness.engine.calls("workflows.set_draft") == []  # the stored one would be lost
    await reading.release()
    assert harness.panel.composer.field.toPlainText() == "unsent\n\ntyped early"


async def test_a_message_sent_while_the_first_workflow_loads_goes_there_and_is_shown(harness: PanelHarness) -> None:
    await harness.panel.choices.load()
    reading = DelayedResult(harness.workflow)
    harness.engine.set("workflows", "get", reading)
    harness.panel.open_workflow("w1")
    await settle()
    harness.panel.composer.field.setPlainText("Sent early")
    harness.panel.composer.submit()
    await settle()
    await reading.release()
    await settle()
    assert harness.engine.calls("workflows.create") == []
    ((to, text), options) = harness.engine.calls("runs.send")[0]
    assert (to, text, options["agent_id"]) == (
        "w1",
        "Sent early",
        "",
    )  # the workflow's own agent, which was not known yet
    assert harness.texts == ["Question", "Answer", "Sent early"]


async def test_reloading_a_workflow_removes_nothing(harness: PanelHarness) -> None:
    """After another answer, another language, or a deleted branch, typed text and the last message stay visible."""
    await harness.open()
    sending = DelayedResult()
    harness.engine.set("runs", "send", sending)
    harness.panel.composer.field.setPlainText("Just sent")
    harness.panel.composer.submit()
    await settle()
    harness.panel.composer.field.setPlainText("being written")
    await harness.panel.pages.reload()
    await settle()
    assert harness.texts == ["Question", "Answer", "Just sent"]
    assert harness.panel.composer.field.toPlainText() == "being written"
    harness.rows.append(
        Message(id="u2", workflow_id="w1", run_id="r2", seq=3, role=MessageRole.USER, content="Just sent")
    )
    await harness.panel.pages.reload()
    await settle()
    assert harness.texts == ["Question", "Answer", "Just sent"]  # once it is stored
    await sending.release()


async def test_the_draft_of_a_new_workflow_is_restored(harness: PanelHarness) -> None:
    await harness.open()
    harness.panel.close_workflow()
    harness.panel.composer.field.setPlainText("A goal")
    harness.panel.open_workflow("w1")
    await settle()
    assert harness.panel.composer.field.toPlainText() == "unsent"
    harness.panel.close_workflow()
    assert harness.panel.composer.field.toPlainText() == "A goal"


async def test_text_typed_while_a_new_workflow_is_created_stays(harness: PanelHarness) -> None:
    await harness.panel.choices.load()
    harness.panel.close_workflow()
    making = DelayedResult(Workflow(id="w2", name="New workflow"))
    harness.engine.set("workflows", "create", making)
    harness.panel.composer.field.setPlainText("First")
    harness.panel.composer.submit()
    await settle()
    harness.panel.composer.field.setPlainText("and then")
    await making.release()
    await settle()
    assert harness.panel.composer.field.toPlainText() == "and then"
    harness.panel.close_workflow()
    assert harness.panel.composer.field.toPlainText() == ""


async def test_a_card_opened_at_the_end_stays_under_the_pointer(harness: PanelHarness) -> None:
    await harness.open()
    view = harness.panel.view
    call = Call("c1", "t", {"lines": "\n".join("x" * 40 for _ in range(40))}, "success", {"success": True})
    said = [Entry(f"m{number}", "user", run_id="r", content="Words. " * 60) for number in range(12)]
    view.set_entries([*said, Entry("a", "assistant", run_id="r", content="Done. " * 40, calls=[call])])
    await settle()
    card = child(view, ToolCard, "tool-card")
    head = child(card, QPushButton)

    def height() -> int:
        return head.mapTo(view, QPoint(0, 0)).y()

    before = height()
    QTest.mouseClick(head, Qt.MouseButton.LeftButton)
    await settle()
    assert card.opened
    assert height() == before
    assert view.jump.isVisible(), "the end is below now"
    QTest.mouseClick(head, Qt.MouseButton.LeftButton)
    await settle()
    assert height() == before
    assert view.following, "at the end again"


async def test_a_reply_is_exported_under_the_current_name_of_its_workflow(
    harness: PanelHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported: list[str] = []
    monkeypatch.setattr(message_actions, "ask_export", lambda *given: exported.append(given[3]))
    await harness.open()
    harness.workflow = harness.workflow.model_copy(update={"name": "Tides"})
    harness.bridge.changed.emit("workflow", "w1")
    await settle()
    harness.panel.commands.export(harness.panel.view.entries[1])
    assert (harness.panel.header.title.text(), exported) == ("Tides", ["Tides"])
