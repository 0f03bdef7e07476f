"""The chat panel with a fake engine: open, send, stream, stop, steer, find."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.panel import ChatPanel
from atelier_desk.desktop.chat.transcript.entries import Call, Entry
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.workflow import Message, MessageRole, Run, RunMode, RunStatus, Workflow
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from tests.support.fake_bridge import FakeAtelier, FakeBridge, Held, settle

AGENTS = [Agent(id=name, config=AgentConfig(name=name, provider="p", model="m")) for name in ("Ada", "Bob")]
MODELS = [ModelInfo(provider="p", name=name, context_window=1000) for name in ("m", "big")]


class Desk:
    """A panel, its fake engine, and helpers for both."""

    def __init__(self, qtbot: QtBot) -> None:
        self.workflow = Workflow(
            id="w1",
            name="First",
            agent_id="Ada",
            draft="unsent",
            usage=Usage(tokens_input=900, tokens_output=100, cost=0.5),
            context_tokens=500,
        )
        self.rows = [
            Message(id="u1", workflow_id="w1", run_id="r1", seq=1, role=MessageRole.USER, content="Question"),
            Message(
                id="a1",
                workflow_id="w1",
                run_id="r1",
                seq=2,
                role=MessageRole.ASSISTANT,
                content="Answer",
                provider="p",
                model="m",
            ),
        ]
        self.engine = FakeAtelier(
            workflows={
                "get": lambda key: self.workflow if key == "w1" else Workflow(id=key, name="Other"),
                "transcript": lambda key, **_: [TranscriptEntry(row) for row in self.rows] if key == "w1" else [],
                "create": lambda **_: Workflow(id="w2", name="New workflow"),
            },
            agents={"list": AGENTS, "default": AGENTS[0]},
            models={"list": MODELS},
        )
        self.bridge = FakeBridge(self.engine)
        self.panel = ChatPanel(self.bridge)
        self.frame = QWidget()
        qtbot.addWidget(self.panel)
        self.panel.resize(900, 700)
        self.panel.show()

    async def open(self, workflow_id: str = "w1") -> None:
        await self.panel.load_choices()
        self.panel.open_workflow(workflow_id)
        await settle()

    def event(self, kind: str, workflow_id: str = "w1", run_id: str = "r2", **data: Any) -> None:
        self.bridge.stream_event.emit(
            StreamEvent(workflow_id=workflow_id, run_id=run_id, chunk_type=ChunkType(kind), data=data)
        )

    @property
    def texts(self) -> list[str]:
        return [entry.content for entry in self.panel.view.entries]


@pytest.fixture
def desk(qtbot: QtBot) -> Desk:
    return Desk(qtbot)


async def test_a_workflow_is_shown_with_its_draft_agent_and_usage(desk: Desk) -> None:
    await desk.open()
    panel = desk.panel
    assert desk.texts == ["Question", "Answer"]
    assert panel.composer.field.toPlainText() == "unsent"
    assert panel.header.title.text() == "First"
    assert panel.header.agents.full_text == "Ada"
    assert panel.header.models.full_text == "m"
    assert "1.0" in panel.header.usage.text()
    assert "50%" in panel.header.usage.text()
    assert panel.findChild(QWidget, "user-message") is not None
    assert panel.findChild(QWidget, "assistant-message") is not None
    assert desk.bridge.errors == []


async def test_sending_shows_the_message_at_once_and_streams_the_answer(qtbot: QtBot, desk: Desk) -> None:
    await desk.open()
    desk.panel.composer.field.setPlainText("Next?")
    qtbot.mouseClick(desk.panel.composer.send, Qt.MouseButton.LeftButton)
    await settle()
    ((args, kwargs),) = desk.engine.calls("runs.send")
    assert args == ("w1", "Next?")
    assert kwargs["agent_id"] == "Ada"
    assert kwargs["strategy"].value == "queue"
    assert desk.texts == ["Question", "Answer", "Next?"]
    desk.event("workflow_start")
    assert not desk.panel.composer.stop.isHidden()
    desk.event("message", message_id="u2", role="user", content="Next?")
    desk.event("token", content="It ", message_id="a2")
    desk.event("token", content="is.", message_id="a2")
    assert desk.texts == ["Question", "Answer", "Next?", "It is."]
    desk.event("message", message_id="a2", role="assistant", content="It is.")
    desk.event(
        "usage",
        tokens_input=1,
        tokens_output=1,
        cost=0,
        context_tokens=100,
        context_window=1000,
        workflow={"tokens_input": 5000},
    )
    desk.event("workflow_complete", status="completed")
    assert desk.panel.composer.stop.isHidden()
    assert "5.0" in desk.panel.header.usage.text()
    assert desk.engine.calls("workflows.set_draft")[-1] == (("w1", ""), {})


async def test_the_first_message_makes_a_workflow(desk: Desk) -> None:
    await desk.panel.load_choices()
    desk.panel.close_workflow()
    made: list[str] = []
    desk.panel.workflow_made.connect(made.append)
    desk.panel.composer.field.setPlainText("Begin")
    desk.panel.composer.submit()
    await settle()
    assert made == ["w2"]
    assert desk.engine.calls("runs.send")[0][0] == ("w2", "Begin")


async def test_a_refused_message_comes_back(desk: Desk) -> None:
    await desk.open()
    desk.engine.set("runs", "send", UsageError("no"))
    desk.panel.composer.field.setPlainText("Please")
    desk.panel.composer.submit()
    await settle()
    assert desk.texts == ["Question", "Answer"]
    assert desk.panel.composer.field.toPlainText() == "Please"
    assert desk.bridge.errors == ["no"]


async def test_another_model_is_stored_with_the_workflow_before_the_message_goes(desk: Desk) -> None:
    await desk.open()
    desk.panel.header.models.chosen.emit("p/big")
    assert desk.panel.header.models.full_text == "big"
    desk.panel.composer.field.setPlainText("x")
    desk.panel.composer.submit()
    await settle()
    ((args, fields),) = desk.engine.calls("workflows.choose")
    assert (args[0], args[1].provider, args[1].model, fields) == ("w1", "p", "big", {"agent_id": "Ada"})
    order = [name for name, _args, _fields in desk.engine.log if name in {"workflows.choose", "runs.send"}]
    assert order == ["workflows.choose", "runs.send"]


async def test_a_model_picked_for_a_new_workflow_is_made_with_it(desk: Desk) -> None:
    await desk.open()
    desk.panel.close_workflow()
    desk.panel.header.models.chosen.emit("p/big")
    desk.panel.composer.field.setPlainText("x")
    desk.panel.composer.submit()
    await settle()
    assert desk.engine.calls("workflows.create")[0][1]["choices"].model == "big"


async def test_the_picker_shows_what_was_chosen_and_never_what_a_server_calls_itself(desk: Desk) -> None:
    desk.rows[1] = desk.rows[1].model_copy(update={"model": "big"})
    await desk.open()
    assert desk.panel.header.models.full_text == "m"


async def test_a_choice_the_engine_refuses_is_reverted(desk: Desk) -> None:
    await desk.open()
    desk.engine.set("workflows", "choose", UsageError("no such model"))
    desk.panel.header.models.chosen.emit("p/big")
    await settle()
    assert desk.panel.header.models.full_text == "m"
    assert desk.bridge.errors == ["no such model"]


async def test_another_agent_is_stored_in_the_workflow(desk: Desk) -> None:
    await desk.open()
    desk.panel.header.models.chosen.emit("p/big")
    desk.panel.header.agents.chosen.emit("Bob")
    await settle()
    args, fields = desk.engine.calls("workflows.choose")[-1]
    assert (args[0], args[1].model, fields) == ("w1", "", {"agent_id": "Bob"})
    assert desk.panel.composer.field.placeholderText().startswith("Message Bob")
    assert desk.panel.header.models.full_text == "m"


async def test_stop_ends_the_waiting_for_a_prompt_and_the_message_is_put_back(desk: Desk) -> None:
    stopped = asyncio.Event()

    async def refused(*_args: Any, **_fields: Any) -> str:
        await stopped.wait()
        raise UsageError("You stopped waiting.")

    desk.engine.set("runs", "send", refused)
    await desk.open()
    composer = desk.panel.composer
    composer.set_draft("/made:poem topic=sea")
    composer.send.click()
    await settle()
    assert not composer.stop.isHidden()
    composer.stop.click()
    await settle()
    assert desk.engine.calls("mcp.content.stop_waiting") == [((), {})]
    assert desk.engine.calls("workflows.stop") == []
    stopped.set()
    await settle()
    assert composer.stop.isHidden()
    assert composer.field.toPlainText() == "/made:poem topic=sea"


async def test_stop_cancels_the_run(desk: Desk) -> None:
    await desk.open()
    desk.event("workflow_start", run_id="r9")
    desk.panel.composer.stop.click()
    await settle()
    assert desk.engine.calls("workflows.stop") == [(("w1",), {})]


async def test_a_draft_is_saved_before_another_workflow_is_shown(desk: Desk) -> None:
    await desk.open()
    desk.panel.composer.field.insertPlainText(" more")
    desk.panel.open_workflow("other")
    await settle()
    assert (("w1", "unsent more"), {}) in desk.engine.calls("workflows.set_draft")
    assert desk.panel.composer.field.toPlainText() == ""


async def test_what_is_typed_while_a_message_is_sent_changes_nothing_of_it(desk: Desk) -> None:
    """Everything is read when the message is sent: text, agent, destination."""
    await desk.open()
    sending = Held()
    desk.engine.set("runs", "send", sending)
    desk.panel.composer.field.setPlainText("As it was")
    desk.panel.composer.submit()
    desk.panel.composer.field.setPlainText("typed meanwhile")
    desk.panel.sending.stepping = True
    desk.panel.choices._agent_id = "Bob"
    await settle()
    ((to, text), how) = desk.engine.calls("runs.send")[0]
    assert (to, text, how["agent_id"], how["mode"]) == ("w1", "As it was", "Ada", RunMode.AUTO)
    await sending.release()
    assert desk.panel.composer.field.toPlainText() == "typed meanwhile"
    assert desk.engine.calls("workflows.set_draft")[-1] == (("w1", "typed meanwhile"), {})


async def test_a_message_goes_where_it_was_written_also_when_another_workflow_is_opened_at_once(desk: Desk) -> None:
    await desk.open()
    desk.panel.composer.field.setPlainText("For the first")
    desk.panel.composer.submit()
    desk.panel.open_workflow("other")
    await settle(30)
    assert desk.engine.calls("runs.send")[0][0] == ("w1", "For the first")
    assert desk.texts == []


async def test_a_draft_is_never_stored_for_another_workflow(desk: Desk) -> None:
    """The user switches while the engine processes the message: the composer then shows another workflow's draft."""
    drafts = {"w1": "", "other": "of the other"}
    desk.engine.set("workflows", "get", lambda key: Workflow(id=key, name=key, draft=drafts[key]))
    desk.engine.set("workflows", "set_draft", drafts.__setitem__)
    await desk.open()
    sending = Held()
    desk.engine.set("runs", "send", sending)
    desk.panel.composer.field.setPlainText("Go")
    desk.panel.composer.submit()
    await settle()
    desk.panel.open_workflow("other")
    await settle()
    assert desk.panel.composer.field.toPlainText() == "of the other"
    await sending.release()
    assert drafts == {"w1": "", "other": "of the other"}
    desk.panel.open_workflow("w1")
    desk.panel.open_workflow("other")
    desk.panel.composer.field.insertPlainText("! ")
    desk.panel.open_workflow("w1")
    await settle(30)
    assert drafts == {"w1": "", "other": "of the other! "}


async def test_a_message_refused_after_a_switch_is_saved_for_its_own_workflow(desk: Desk) -> None:
    drafts = {"w1": "", "other": "of the other"}
    desk.engine.set("workflows", "get", lambda key: Workflow(id=key, name=key, draft=drafts[key]))
    desk.engine.set("workflows", "set_draft", drafts.__setitem__)
    await desk.open()
    refusing = asyncio.Event()

    async def send(*_args: Any, **_fields: Any) -> str:
        await refusing.wait()
        raise UsageError("no")

    desk.engine.set("runs", "send", send)
    desk.panel.composer.field.setPlainText("Please")
    desk.panel.composer.submit()
    await settle()
    desk.panel.open_workflow("other")
    await settle()
    refusing.set()
    await settle()
    assert drafts == {"w1": "Please", "other": "of the other"}
    assert desk.panel.composer.field.toPlainText() == "of the other"


async def test_events_of_other_workflows_wait_until_they_are_shown(desk: Desk) -> None:
    await desk.open()
    desk.event("workflow_start", workflow_id="other")
    desk.event("token", workflow_id="other", content="Hidden", message_id="x")
    assert "Hidden" not in desk.texts
    desk.panel.open_workflow("other")
    await settle()
    assert desk.texts == ["Hidden"]
    assert desk.panel.workflow_id == "other"


async def test_steering_goes_to_the_engine(desk: Desk) -> None:
    await desk.open()
    host = desk.panel.host
    host.resume_requested.emit("r1", {"finish": True})
    host.regenerate_requested.emit("r1", "m2")
    host.resend_requested.emit("r1", "m1", "Better question")
    host.branch_requested.emit("r0")
    host.stop_requested.emit("r1")
    await settle(30)
    assert desk.engine.calls("runs.steering.resume") == [(("r1",), {"finish": True})]
    assert desk.engine.calls("runs.regenerate") == [(("w1", "r1", "m2"), {})]
    assert desk.engine.calls("runs.edit_and_resend") == [(("w1", "r1", "Better question", "m1"), {})]
    assert desk.engine.calls("workflows.select_branch") == [(("w1", "r0"), {})]
    assert desk.engine.calls("runs.cancel") == [(("r1",), {})]


@pytest.mark.parametrize(("effect", "said"), [("write", 1), ("read", 0)])
async def test_regenerating_a_turn_warns_of_what_its_calls_changed(desk: Desk, effect: str, said: int) -> None:
    await desk.open()
    told: list[str] = []
    desk.panel.sending.status_changed.connect(told.append)
    calls = [Call(f"c{status}", "WriteFileTool", status=status, effect=effect) for status in ("ok", "rejected")]
    desk.panel.view.set_entries(
        [Entry("a", "assistant", run_id="r1", calls=calls), Entry("b", "assistant", run_id="r2", calls=calls)]
    )
    desk.panel.host.resend_requested.emit("r1", "m1", "Better question")
    await settle(30)
    assert told == ["1 call of the earlier answer changed something. That stays, and may be done again."] * said


async def test_who_changes_a_message_within_a_turn_sees_what_is_sent_again_with_it(qtbot: QtBot, desk: Desk) -> None:
    await desk.open()
    told: list[str] = []
    desk.panel.sending.status_changed.connect(told.append)
    kinds = ("user", "assistant", "user", "assistant")
    desk.panel.view.set_entries([Entry(f"m{n}", kind, run_id="r1", content=str(n)) for n, kind in enumerate(kinds)])  # type: ignore[arg-type]
    notes = {}
    for entry in desk.panel.view.entries[::2]:
        desk.panel.commands.edit(entry)
        notes[entry.id] = desk.panel.view.widget_of(entry).findChild(QLabel, "edit-again")
    words = "1 earlier message of this turn is sent and answered again, too."
    assert [note.text() for note in notes.values()] == ["", words]
    assert [note.isVisible() for note in notes.values()] == [False, True]
    assert desk.panel.host.resend_text("r1", "m1") == ""
    desk.panel.host.regenerate_requested.emit("r1", "m3")
    await settle(30)
    assert told == [words]


async def test_find_goes_through_older_pages_too(desk: Desk) -> None:
    old = [
        Message(id=f"o{i}", workflow_id="w1", run_id="r0", seq=i, role=MessageRole.USER, content=f"needle {i}")
        for i in range(1, 51)
    ]
    new = [
        Message(id=f"n{i}", workflow_id="w1", run_id="r1", seq=i, role=MessageRole.USER, content="hay")
        for i in range(51, 151)
    ]
    pages = {None: new, 51: old}
    desk.engine.set(
        "workflows",
        "transcript",
        lambda key, before=None, limit=0: [TranscriptEntry(row) for row in pages.get(before, [])],
    )
    await desk.open()
    desk.panel.find_bar.enter()
    desk.panel.find_bar.field.setText("NEEDLE")
    desk.panel.find_bar.needle_changed.emit("NEEDLE")
    await settle(40)
    assert len(desk.texts) == 150
    assert desk.panel.find_bar.count.text().startswith("50 / 50")
    desk.panel.find_bar.step(1)
    assert desk.panel.find_bar.count.text().startswith("1 / 50")
    desk.panel.find_bar.leave()
    assert desk.panel.find_bar.isHidden()


@pytest.mark.parametrize(
    ("status", "kind"), [(RunStatus.PAUSED, "limit_reached"), (RunStatus.INTERRUPTED, "run_interrupted")]
)
async def test_a_held_run_is_shown_with_its_decision(desk: Desk, status: RunStatus, kind: str) -> None:
    desk.engine.run = Run(id="r1", workflow_id="w1", status=status)
    desk.workflow = desk.workflow.model_copy(update={"head_run_id": "r1"})
    details = {"limit": "cost", "ended": "killed"}
    desk.rows.append(
        Message(id="n", workflow_id="w1", run_id="r1", seq=3, role=MessageRole.NOTICE, kind=kind, details=details)
    )
    await desk.open()
    assert desk.panel.view.entries[-1].actionable
    assert desk.panel.composer.stop.isHidden()
    assert desk.panel.header.state.isHidden() is (status is RunStatus.PAUSED)
    assert desk.panel.header.state.text() == "interrupted"
    desk.event("run_status", run_id="r1", status="processing")
    await settle()
    assert desk.panel.header.state.isHidden()


async def test_what_is_typed_while_the_first_workflow_is_read_stays(desk: Desk) -> None:
    """At a start on a busy machine the window accepts keys seconds before the last workflow is loaded."""
    await desk.panel.load_choices()
    reading = Held(desk.workflow)
    desk.engine.set("workflows", "get", reading)
    desk.panel.open_workflow("w1")
    await settle()
    desk.panel.composer.field.setPlainText("typed early")
    desk.panel.save_draft()
    assert desk.engine.calls("workflows.set_draft") == []  # the stored one would be lost
    await reading.release()
    assert desk.panel.composer.field.toPlainText() == "unsent\n\ntyped early"


async def test_what_is_sent_while_the_first_workflow_is_read_goes_there_and_is_shown(desk: Desk) -> None:
    await desk.panel.load_choices()
    reading = Held(desk.workflow)
    desk.engine.set("workflows", "get", reading)
    desk.panel.open_workflow("w1")
    await settle()
    desk.panel.composer.field.setPlainText("Sent early")
    desk.panel.composer.submit()
    await settle()
    await reading.release()
    await settle()
    assert desk.engine.calls("workflows.create") == []
    ((to, text), how) = desk.engine.calls("runs.send")[0]
    assert (to, text, how["agent_id"]) == ("w1", "Sent early", "")  # the workflow's own agent, which was not known yet
    assert desk.texts == ["Question", "Answer", "Sent early"]


async def test_reading_a_workflow_again_takes_nothing_away(desk: Desk) -> None:
    """After another answer, another language, or a deleted branch, typed text and the last message stay visible."""
    await desk.open()
    sending = Held()
    desk.engine.set("runs", "send", sending)
    desk.panel.composer.field.setPlainText("Just sent")
    desk.panel.composer.submit()
    await settle()
    desk.panel.composer.field.setPlainText("being written")
    await desk.panel.pages.reload()
    await settle()
    assert desk.texts == ["Question", "Answer", "Just sent"]
    assert desk.panel.composer.field.toPlainText() == "being written"
    desk.rows.append(Message(id="u2", workflow_id="w1", run_id="r2", seq=3, role=MessageRole.USER, content="Just sent"))
    await desk.panel.pages.reload()
    await settle()
    assert desk.texts == ["Question", "Answer", "Just sent"]  # once it is stored
    await sending.release()


async def test_what_was_written_for_a_new_workflow_is_there_again(desk: Desk) -> None:
    await desk.open()
    desk.panel.close_workflow()
    desk.panel.composer.field.setPlainText("A goal")
    desk.panel.open_workflow("w1")
    await settle()
    assert desk.panel.composer.field.toPlainText() == "unsent"
    desk.panel.close_workflow()
    assert desk.panel.composer.field.toPlainText() == "A goal"


async def test_what_is_typed_while_a_new_workflow_is_made_stays(desk: Desk) -> None:
    await desk.panel.load_choices()
    desk.panel.close_workflow()
    making = Held(Workflow(id="w2", name="New workflow"))
    desk.engine.set("workflows", "create", making)
    desk.panel.composer.field.setPlainText("First")
    desk.panel.composer.submit()
    await settle()
    desk.panel.composer.field.setPlainText("and then")
    await making.release()
    await settle()
    assert desk.panel.composer.field.toPlainText() == "and then"
    desk.panel.close_workflow()
    assert desk.panel.composer.field.toPlainText() == ""
