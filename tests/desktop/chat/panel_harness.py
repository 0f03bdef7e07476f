"""The chat panel with a double of the engine."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.panel import ChatPanel
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.workflow import Message, MessageRole, Workflow
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

AGENTS = [Agent(id=name, config=AgentConfig(name=name, provider="p", model="m")) for name in ("Ada", "Bob")]

MODELS = [ModelInfo(provider="p", name=name, context_window=1000) for name in ("m", "big")]


class PanelHarness:
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
        await self.panel.choices.load()
        self.panel.open_workflow(workflow_id)
        await settle()

    def event(self, kind: str, workflow_id: str = "w1", run_id: str = "r2", **data: Any) -> None:
        self.bridge.stream_event.emit(
            StreamEvent(workflow_id=workflow_id, run_id=run_id, chunk_type=ChunkType(kind), data=data)
        )

    @property
    def texts(self) -> list[str]:
        return [entry.content for entry in self.panel.view.entries]
