"""Approvals for tests, an engine that stores them, and a card in a window."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.questions.approval_card import ApprovalCard
from atelier_desk.domain.approval import Ancestor, ApprovalKind, ApprovalRequest, ApprovalScope, ApprovalStatus
from atelier_desk.engine.services.tools import ToolService
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

START = datetime(2026, 1, 1, tzinfo=UTC)
TODO = {"operation": "create", "name": "Read the registry", "priority": 2}
LINEAGE = (Ancestor(run_id="r0", agent_name="Architect"), Ancestor(run_id="r1", agent_name="Reviewer"))
SPAWN = {
    "sub_agent_name": "Type checker",
    "prompt_preview": "Read every module",
    "prompt_length": 900,
    "tools": ["read_file", "TodoTool"],
}


def asks(name: str = "v1", workflow: str = "w1", **fields: Any) -> ApprovalRequest:
    """A pending request ``name``; the digits of the name determine its time."""
    minute = int("".join(filter(str.isdigit, name)) or 0)
    base: dict[str, Any] = {
        "run_id": f"r-{name}",  # two of one run would share a card
        "call_id": f"c-{name}",
        "agent_name": "Checker",
        "kind": ApprovalKind.TOOL,
        "tool": "TodoTool",
        "operation": "create",
        "section": "core_ops",
        "reason": "manual",
        "arguments": TODO,
        "timeout_s": 0,
        "always": (str(fields.get("tool", "TodoTool")),),
        "created_at": START + timedelta(minutes=minute),
    }
    return ApprovalRequest(id=name, workflow_id=workflow, **(base | fields))


class ApprovalEngine(FakeAtelier):
    """Stores requests and decides about them like the service, without a run."""

    def __init__(self, *requests: ApprovalRequest, **services: dict[str, Any]) -> None:
        self.stored = {request.id: request for request in requests}
        approvals: dict[str, object] = {
            "pending": self._pending,
            "get": self.stored.__getitem__,
            "approve": self._approve,
            "approve_together": lambda ids: [self._approve(each, None, ApprovalScope.ONCE, ()) for each in ids],
            "reject": self._reject,
            "reject_together": lambda ids: [self._reject(each, "") for each in ids],
            "seen": 30.0,
            "preview": [],
        }
        context: Any = SimpleNamespace(registry=create_default_tool_registry())
        tools: dict[str, object] = {"check": ToolService(context).check}
        super().__init__(**({"approvals": approvals, "tools": tools} | services))

    def _pending(self, *_: Any) -> list[ApprovalRequest]:
        return [request for request in self.stored.values() if request.status is ApprovalStatus.PENDING]

    def change(self, request_id: str, **fields: Any) -> ApprovalRequest:
        changed = self.stored[request_id] = self.stored[request_id].model_copy(update=fields)
        return changed

    def _approve(self, request_id: str, arguments: Any, scope: Any, rules: Any) -> ApprovalRequest:
        return self.change(request_id, status=ApprovalStatus.APPROVED, edited=arguments, scope=scope, decided_by="user")

    def _reject(self, request_id: str, note: str) -> ApprovalRequest:
        return self.change(request_id, status=ApprovalStatus.REJECTED, note=note, decided_by="user")


async def emit_event(bridge: FakeBridge, request: ApprovalRequest) -> None:
    """Report that a request was made or decided, like a commit."""
    bridge.changed.emit("approval", request.id)
    await settle()


class Scene:
    """A shown window with one card in it."""

    def __init__(self, qtbot: QtBot, request: ApprovalRequest, width: int = 640) -> None:
        self.engine = ApprovalEngine(request)
        self.bridge = FakeBridge(self.engine)
        self.window = QWidget()
        self.window.resize(width, 900)
        self.column = QVBoxLayout(self.window)
        qtbot.addWidget(self.window)
        self.card = self.add(request)
        self.column.addStretch(1)
        self.window.show()

    def add(self, request: ApprovalRequest) -> ApprovalCard:
        card = ApprovalCard(self.bridge, request)
        self.column.insertWidget(0, card)
        return card

    def find(self, name: str, card: ApprovalCard | None = None) -> Any:
        found = (card or self.card).findChild(QWidget, name)
        assert found is not None, name
        return found

    def edit(self, text: str) -> None:
        self.find("approval-edit").click()
        self.find("approval-arguments").setPlainText(text)


MakeScene = Callable[..., Scene]
