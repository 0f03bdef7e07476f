"""The live view equals the view after a reload: for many kinds of runs of the real engine.

Compared are the cards of a panel that watched them, and of a new panel that loaded them from the database.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QPoint
from PySide6.QtWidgets import QAbstractButton, QDoubleSpinBox, QLabel, QPlainTextEdit, QPushButton, QTextEdit, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.panel import ChatPanel
from atelier_desk.desktop.questions.approval_controller import approval_controller
from atelier_desk.domain.agent import Budget
from atelier_desk.domain.errors import ContextOverflowError, ProviderError
from atelier_desk.domain.events.base_event import LimitKind
from atelier_desk.domain.model_messages import (
    ChatDelta,
    ChatReply,
    ChatRequest,
    FinishReason,
    RetryDelta,
    ToolCall,
    Usage,
)
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.helpers.fake_bridge import FakeBridge
from tests.helpers.runs_without_driver import agent
from tests.helpers.scripted_teams import TEAM_TOOLS, ask_user, calculate, spawn
from tests.helpers.tool_calls import tool_call

Cards = list[tuple[str, list[str]]]
"""For each item of the transcript, from top to bottom: its kind, and all its words in reading order."""


class Room:
    """An engine with scripted models and a panel that watches it, in one loop."""

    def __init__(self, qtbot: QtBot, engine: Atelier, models: dict[str, ScriptedModel]) -> None:
        self._qtbot, self.engine, self.models = qtbot, engine, models
        self.bridge = FakeBridge(engine)
        engine.bus.subscribe(self.bridge.stream_event.emit)
        engine.bus.on_changed(self.bridge.changed.emit)
        self.live = self._panel()
        self.workflow = ""
        self.run = ""

    def _panel(self) -> ChatPanel:
        panel = ChatPanel(self.bridge)
        self._qtbot.addWidget(panel)
        panel.resize(900, 4000)  # everything is visible, so everything is drawn
        panel.show()
        return panel

    async def until(self, condition: Callable[[], Any], what: str = "") -> Any:
        for _ in range(4000):
            if found := condition():
                return found
            QCoreApplication.processEvents()
            await asyncio.sleep(0.002)
        raise AssertionError(f"it never came true: {what}\n{self.cards(self.live)}")

    async def rest(self, panel: ChatPanel) -> None:
        """Wait until nothing on the screen changes."""
        before: Cards = []
        same = 0
        while same < 25:
            QCoreApplication.processEvents()
            await asyncio.sleep(0.004)
            now = self.cards(panel)
            same, before = (same + 1 if now == before else 0), now

    async def send(self, text: str = "Go", **config: Any) -> None:
        """Send a message as the panel does, with its bubble shown before the engine knows of it."""
        if not self.workflow:
            self.workflow = (await self.engine.workflows.create("One")).id
            self.live.open_workflow(self.workflow)
            await self.until(lambda: self.live.pages.current is not None)
        lead = agent(**{"name": "Lead", "tools": TEAM_TOOLS, "approval": "auto", **config})
        current = self.live.pages.current
        assert current is not None
        self.live._on_changes([current.add_own(f"own-{text}", text, [])])
        self.run = await self.engine.runs.send(self.workflow, text, agent=lead)
        await self.until(lambda: any(entry.run_id == self.run for entry in current.entries), "the run begins")

    async def status(self, *expected: str) -> None:
        """Wait until the turn has one of these states."""
        async with asyncio.timeout(20):
            while (await self.engine.repos.runs.get(self.run)).status.value not in expected:
                QCoreApplication.processEvents()
                await asyncio.sleep(0.002)

    def cards(self, panel: ChatPanel) -> Cards:
        """The visible text, item by item."""
        found: Cards = []
        for entry in panel.view.entries:
            widget = panel.view.widget_of(entry)
            # An agent's time is counted from events while it runs, and from rows later, which differ by fractions of
            # a millisecond.
            texts = [re.sub(r"\d+(?=\u202fms)", "n", text) for text in words(widget)] if widget is not None else []
            found.append((widget.objectName() if widget is not None else "not drawn", texts))
        return [card for card in found if card[1]]

    async def compare(self, moment: str) -> None:
        """Compare the panel that watched with one that has just opened the workflow."""
        await self.rest(self.live)
        fresh = self._panel()
        fresh.open_workflow(self.workflow)
        await self.until(lambda: fresh.pages.current is not None)
        await self.rest(fresh)
        live, read = self.cards(self.live), self.cards(fresh)
        await self.until(
            lambda: figures(self.live) == figures(fresh), f"{moment}: {figures(self.live)}, read {figures(fresh)}"
        )
        fresh.hide()
        fresh.deleteLater()
        assert live == read, f"{moment}:\nlive\n{texts_without_times(live)}\nread\n{texts_without_times(read)}"

    async def decide(self, *, edited: dict[str, Any] | None = None, note: str | None = None) -> None:
        """Decide the oldest request as its card does."""
        desk = approval_controller(self.bridge)
        request = (await self.until(desk.pending, "a request waits"))[0]
        if note is not None:
            await desk.reject(request.id, note)
        else:
            await desk.approve(request.id, edited)

    async def question(self) -> str:
        """The id of the pending question."""
        async with asyncio.timeout(20):
            while not (found := await self.engine.questions.pending(self.workflow)):
                QCoreApplication.processEvents()
                await asyncio.sleep(0.002)
        return found[0].id


def words(widget: QWidget) -> list[str]:
    """The visible words in a widget, from top to bottom and from left to right."""
    found: list[tuple[int, int, str]] = []
    for child in widget.findChildren(QWidget):
        if not child.isVisibleTo(widget):
            continue
        text = ""
        if isinstance(child, QTextEdit | QPlainTextEdit):
            text = child.toPlainText()
        elif isinstance(child, (QLabel | QAbstractButton, QDoubleSpinBox)):
            text = child.text()
        if text.strip():
            at = child.mapTo(widget, QPoint(0, 0))
            found.append((at.y(), at.x(), text.strip()))
    return [text for _y, _x, text in sorted(found)]


def figures(panel: ChatPanel) -> tuple[float, ...]:
    """Tokens and cost in the header, and those of the newest turn's agents as shown by tree, lanes and pages."""
    sums, total = panel.header.meter._sums, panel.team.state.total(panel.team.root, panel.team.now())
    return (*(sums.get(name, 0) for name in ("in", "out", "cost")), total.tokens_input, total.tokens_output, total.cost)


def texts_without_times(cards: Cards) -> str:
    return "\n".join(f"  {kind}: {' | '.join(text)}" for kind, text in cards)


Open = Callable[..., Awaitable[Room]]


@pytest.fixture
async def opened(qtbot: QtBot, tmp_path: Path) -> AsyncIterator[Open]:
    models: dict[str, ScriptedModel] = {}
    rooms: list[Room] = []
    async with Atelier.open(tmp_path, model_factory=lambda config: models[config.name], fsync=False) as engine:

        async def make(**scripts: Sequence[Step] | ScriptedModel) -> Room:
            for name, steps in scripts.items():
                models[name] = steps if isinstance(steps, ScriptedModel) else ScriptedModel(steps)
            rooms.append(Room(qtbot, engine, models))
            return rooms[-1]

        yield make
        for room in rooms:
            room.bridge.ready = False
            assert room.bridge.errors == []


class Busy(ScriptedModel):
    """A server that fails the first request of each reply."""

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        yield RetryDelta(attempt=2, delay_s=0.5, reason="overloaded")
        async for delta in super().stream(request):
            yield delta


def replied(text: str = "", *calls: ToolCall, reasoning: str = "", finish: FinishReason | None = None) -> ChatReply:
    reason = finish or (FinishReason.TOOL_CALLS if calls else FinishReason.STOP)
    usage = Usage(tokens_input=20, tokens_output=5)
    return ChatReply(
        content=text, reasoning=reasoning, tool_calls=calls, finish_reason=reason, usage=usage, model="scripted"
    )


def task(id: str, name: str) -> ToolCall:
    return tool_call("TodoTool", id, operation="create", name=name)


def ask_mixed(id: str) -> ToolCall:
    options = [{"id": "r", "label": "Red"}, {"id": "b", "label": "Blue"}]
    arguments = {"operation": "ask", "question": "Which colours?", "questionType": "mixed", "options": options}
    return tool_call("UserQuestionTool", id, **arguments)


async def text_and_thoughts(opened: Open) -> None:
    room = await opened(Lead=[replied("It is **so**.", reasoning="Let me see."), "And so."])
    await room.send()
    await room.status("completed")
    await room.compare("after one turn")
    await room.send("More")
    await room.status("completed")
    await room.compare("after two")


async def tools(opened: Open) -> None:
    first = replied("I calculate.", calculate("a", "6*7"), calculate("b", "1/0"))
    room = await opened(
        Lead=[
            first,
            [task("t", "Tidy up")],
            [calculate("c", "2+2")],
            replied("", calculate("d", "1+1"), reasoning="Hm."),
            "Done.",
            "Done.",
        ]
    )
    await room.send(tools=("CalculatorTool", "TodoTool"))
    await room.status("completed")
    await room.compare("at the end")


async def approvals(opened: Open) -> None:
    """A call before the pending one runs meanwhile; then approved, rejected and edited."""
    mixed = replied("", calculate("a", "6*7"), spawn("s", "Helper"), calculate("b", "2*2"))
    room = await opened(
        Lead=[mixed, [spawn("x", "Wrong")], [spawn("e", "Clumsy")], "Done."],
        Helper=["I helped."],
        Deft=["Deftly done."],
    )
    await room.send(approval="selective")
    await room.status("awaiting_approval")
    await room.compare("while the first request waits")
    await room.decide()
    await room.until(
        lambda: (
            len(approval_controller(room.bridge).pending()) == 1
            and approval_controller(room.bridge).pending()[0].call_id == "x"
        )
    )
    await room.compare("while the second waits")
    await room.decide(note="Not this one.")
    await room.until(lambda: any(each.call_id == "e" for each in approval_controller(room.bridge).pending()))
    await room.compare("after a refusal")
    await room.decide(edited={"operation": "spawn", "name": "Deft", "prompt": "Do it."})
    await room.status("completed")
    await room.compare("after a changed call")
    assert "Deft" in texts_without_times(room.cards(room.live))
    assert "Clumsy" not in texts_without_times(room.cards(room.live))


async def questions(opened: Open) -> None:
    """Answered, skipped and mixed, two of them in one reply, between other calls."""
    both = replied("Some questions.", calculate("a", "6*7"), ask_user("q"), ask_mixed("m"), calculate("b", "1+1"))
    room = await opened(Lead=[both, [ask_user("s", "Shall I go on?")], "Done."])
    await room.send()
    asked = await room.question()
    await room.compare("while the first waits")
    await room.engine.questions.answer_with(asked, text="Green")
    await room.until(lambda: "Which colours?" in texts_without_times(room.cards(room.live)))
    asked = await room.question()
    await room.compare("while the second waits")
    await room.engine.questions.answer_with(asked, options=("r",), text="and a bit of grey")
    await room.until(lambda: "Shall I go on?" in texts_without_times(room.cards(room.live)))
    assert (await room.engine.questions.skip(await room.question())).status is QuestionStatus.SKIPPED
    await room.status("completed")
    await room.compare("at the end")
    text = texts_without_times(room.cards(room.live))
    assert [text.count(each) for each in ("Which colour?", "Which colours?", "Shall I go on?")] == [1, 1, 1]
    assert "failed" not in text


async def agents(opened: Open) -> None:
    room = await opened(
        Lead=[replied("I start two.", spawn("s1", "Ada"), spawn("s2", "Bob")), "Both are done."],
        Ada=[[calculate("a", "6*7")], "It is 42."],
        Bob=[ProviderError("Nobody is at home.", code="bad_request")],
    )
    await room.send()
    await room.status("completed")
    await room.compare("at the end")
    used = figures(room.live)
    assert used[:3] == used[3:], "one turn: the header shows the total usage of its agents"


async def limit(opened: Open) -> None:
    """A limit between a reply and its calls, raised; and one ended by a final answer."""
    room = await opened(
        Lead=[[calculate("a", "1+1")], [calculate("b", "2+2")], [calculate("c", "3+3")], "That is all."]
    )
    await room.send(budget=Budget(max_tool_calls=1))
    await room.status("paused")
    await room.compare("while it waits")
    await room.engine.runs.steering.resume(room.run, raise_limits={LimitKind.TOOL_CALLS: 1})
    await room.status("paused")
    await room.until(lambda: texts_without_times(room.cards(room.live)).count("Tool-call limit reached") == 2)
    await room.compare("at the second limit")
    await room.engine.runs.steering.resume(room.run, finish=True)
    await room.status("completed")
    await room.compare("at the end")


async def stopped(opened: Open) -> None:
    """Stopped during a reply, a question, and a request."""
    gate = asyncio.Event()
    waiting_model = ScriptedModel(
        ["A long answer that is never told to its end.", [ask_user("q")], [spawn("s", "Helper")]], gate=gate
    )
    room = await opened(Lead=waiting_model)
    await room.send()
    await room.until(lambda: "A long answer" in texts_without_times(room.cards(room.live)))
    room.live.stop()
    await room.status("cancelled")
    await room.compare("in the middle of a reply")
    gate.set()
    await room.send("Ask")
    await room.question()
    room.live.stop()
    await room.status("cancelled")
    await room.compare("at a question")
    await room.send("Start", approval="selective")
    await room.status("awaiting_approval")
    room.live.stop()
    await room.status("cancelled")
    await room.compare("at a request")


async def failure(opened: Open) -> None:
    """A server that is busy once is retried; one that refuses is reported, with Retry."""
    said = "HTTP 401: invalid_api_key"
    no_key = ProviderError(
        "{provider} refused the API key ({detail}). Set it.", code="auth", provider="It", detail=said
    )
    room = await opened(Lead=Busy([no_key, "Here I am."]))
    await room.send()
    await room.status("error")
    await room.compare("after the error")
    text = texts_without_times(room.cards(room.live))
    assert "It refused the API key. Set it." in text
    assert not any(each in text for each in ("401", "invalid_api_key", "auth"))
    fold = room.live.findChild(QPushButton, "notice-details")
    assert fold is not None
    fold.click()
    await room.until(lambda: f"auth\n{said}" in texts_without_times(room.cards(room.live)))
    fold.click()
    await room.engine.runs.steering.resume(room.run)
    await room.status("completed")
    await room.compare("after Retry")


async def nudge(opened: Open) -> None:
    """Reminded of its open tasks, the agent answers a second time, and the reason is shown."""
    room = await opened(Lead=[[task("a", "Measure"), task("b", "Cut")], "All is done.", "All is done."])
    await room.send()
    await room.status("completed")
    await room.compare("at the end")
    shown = room.cards(room.live)
    assert [kind for kind, _words in shown[-3:]] == ["assistant-message", "notice-card", "assistant-message"]
    assert "2 tasks" in texts_without_times(shown[-2:-1])


async def window(opened: Open) -> None:
    """The server reports a smaller context than assumed: the event's own notice."""
    overflow = ContextOverflowError("too long", n_ctx=4096, n_prompt=6000, status=400)
    room = await opened(Lead=[overflow, "Fits now."])
    await room.send("word " * 1500, tools=("CalculatorTool",))
    await room.status("completed")
    await room.compare("at the end")
    shown = texts_without_times(room.cards(room.live))
    assert "smaller than expected | Requests to this model are now limited to 4,096" in shown


async def unfinished(opened: Open) -> None:
    room = await opened(Lead=[replied("It goes on and", finish=FinishReason.LENGTH), "on."])
    await room.send()
    await room.status("completed")
    await room.compare("cut off")
    await room.send("Continue exactly where you stopped.")
    await room.status("completed")
    await room.compare("after going on")


async def ends(opened: Open) -> None:
    """Reported by the agent itself: done, and given up; with output shown."""
    show = tool_call("output", "o", type="progress", content="Half way.")
    done = tool_call("task_complete", "d", summary="It is done.")
    give_up = tool_call("task_abandon", "g", reason="It cannot be done.")
    room = await opened(Lead=[[show], [done], [give_up]])
    await room.send()
    await room.status("completed")
    await room.compare("done")
    await room.send("Another")
    await room.status("abandoned")
    await room.compare("gave up")


async def loop(opened: Open) -> None:
    """A repeated call: warning, then pause."""
    room = await opened(Lead=[[calculate(f"c{number}", "1+1")] for number in range(9)])
    await room.send()
    await room.status("paused")
    await room.compare("held")


async def form(opened: Open) -> None:
    """An answer that does not match the agent's schema is requested again, then shown with a notice."""
    schema = {"type": "object", "required": ["total"]}
    room = await opened(Lead=["Three.", '{"sum": 3}'])
    await room.send(answer_schema=schema)
    await room.status("completed")
    await room.compare("at the end")
    shown = room.cards(room.live)
    assert [kind for kind, _words in shown[-4:]] == [
        "assistant-message",
        "notice-card",
        "assistant-message",
        "notice-card",
    ]
    assert "json" in texts_without_times(shown[-2:-1]), "shown as code"
    assert "'total' is a required property" in texts_without_times(shown[-1:])


KINDS = [
    text_and_thoughts,
    tools,
    approvals,
    questions,
    agents,
    limit,
    stopped,
    failure,
    nudge,
    form,
    window,
    unfinished,
    ends,
    loop,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_the_live_view_equals_the_view_after_a_reload(
    opened: Open, kind: Callable[[Open], Awaitable[None]]
) -> None:
    await kind(opened)


async def test_skills_called_by_person_and_agent_look_the_same_after_a_reload(
    opened: Open, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("ann")
    file = home / ".agents/skills/greet/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: greet\ndescription: Greets.\n---\nGreet $ARGUMENTS.")
    monkeypatch.setenv("ATELIER_HOME", str(home))
    activate = tool_call("activate_skill", "c1", name="greet")
    room = await opened(Lead=[[activate], "Hello Bob"])
    await room.send("/greet Bob")
    await room.status("completed")
    await room.compare("a called skill")
    shown = str(room.cards(room.live))
    assert "greet/SKILL.md" in shown, "what was called opens below the message"
    assert "Loaded the skill" in shown
