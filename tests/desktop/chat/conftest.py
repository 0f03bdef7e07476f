"""A panel over a fake engine, with a running team."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.panel import ChatPanel
from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.domain.workflow import Message, MessageRole, Workflow
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from tests.desktop.team.sample_team_events import event, started, tree
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


class Team:
    """The panel, its engine, and helpers for both."""

    def __init__(self, qtbot: QtBot) -> None:
        self._qtbot = qtbot
        self.changes: dict[str, dict[str, Any]] = {}
        self.approvals: list[ApprovalRequest] = []
        prompt = Message(
            id="p",
            workflow_id="w1",
            run_id="dot",
            seq=11,
            role=MessageRole.USER,
            kind="queue",
            content="Check **all** types",
        )
        message = Message(
            id="d1",
            workflow_id="w1",
            run_id="dot",
            seq=12,
            role=MessageRole.ASSISTANT,
            kind="reply",
            content="Looking.",
        )
        self.engine = FakeAtelier(
            workflows={"get": Workflow(id="w1", name="Team"), "transcript": []},
            teams={
                "tree": lambda *_: tree(**self.changes),
                "transcript": [TranscriptEntry(prompt), TranscriptEntry(message)],
            },
            approvals={
                "pending": lambda *_: self.approvals,
                "get": self._approval,
                "approve": lambda key, **_options: self._approval(key),
            },
        )
        self.bridge = FakeBridge(self.engine)
        self.panel = ChatPanel(self.bridge)
        qtbot.addWidget(self.panel)
        self.panel.resize(900, 800)
        self.panel.show()

    def _approval(self, key: str) -> ApprovalRequest:
        return next(each for each in self.approvals if each.id == key)

    async def open(self) -> None:
        """Show the workflow, then start the team."""
        self.panel.open_workflow("w1")
        await settle()
        await self.feed(*started())

    async def feed(self, *events: StreamEvent) -> None:
        """Feed events, and wait until the window shows them."""
        for each in events:
            self.bridge.stream_event.emit(each)
        await self.settled()

    async def settled(self) -> None:
        team = self.panel.team
        self._qtbot.waitUntil(lambda: not (team._reload.isActive() or team._change_timer.isActive()))
        await settle()
        self._qtbot.waitUntil(lambda: not (team._reload.isActive() or team._change_timer.isActive()))
        await settle()

    async def send_event(self, number: int, kind: str, run_id: str = "ada", /, **data: Any) -> None:
        """Feed one event; a commit that changes an approval reports that too."""
        if approval_id := data.get("validation_id"):
            self.bridge.changed.emit("approval", approval_id)
        await self.feed(event(number, kind, run_id, **data))

    def find(self, kind: type[Any], name: str) -> Any:
        return self.panel.findChild(kind, name)

    def all(self, kind: type[Any], name: str) -> list[Any]:
        return [
            each for each in self.panel.findChildren(kind, name) if not isinstance(each, QWidget) or not each.isHidden()
        ]


@pytest.fixture
async def team(qtbot: QtBot) -> Team:
    made = Team(qtbot)
    await made.open()
    return made
