"""The memories given to an agent, and why; the user edits one in place."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from PySide6.QtWidgets import QListWidget, QPlainTextEdit, QPushButton, QWidget

from atelier_desk.desktop.panes.context.pane import ContextPane
from atelier_desk.desktop.panes.context.recalled_memories import given
from atelier_desk.desktop.panes.memory.dialog import MemoryDialog
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.domain.model_messages import ChatMessage, Role
from atelier_desk.engine.services.request.sent_request_data import SentItem
from tests.desktop.panes.context.context_pane_fixtures import atelier, named, pane, texts
from tests.helpers import sample_team_history
from tests.helpers.fake_bridge import FakeAtelier, settle
from tests.helpers.tool_calls import tool_call

__all__ = ["atelier", "pane"]

SEARCH = tool_call("MemoryTool", "c9", operation="search", query="which port")
HIT = {"id": "m1", "content": "The port is 8443", "score": 0.61, "relevance": 0.6, "lexical": 0.5, "cosine": 0.4}
TOLD = (
    ChatMessage(
        role=Role.ASSISTANT,
        content="",
        tool_calls=(SEARCH, tool_call("MemoryTool", "c10", operation="get")),
    ),
    ChatMessage(role=Role.TOOL, tool_call_id="c9", content=json.dumps({"success": True, "results": [HIT]})),
    ChatMessage(
        role=Role.TOOL,
        tool_call_id="c10",
        content=json.dumps({"success": True, "memory": {"id": "m2", "content": "Tea at four"}}),
    ),
    ChatMessage(role=Role.TOOL, tool_call_id="c11", content="cut in the mid"),
)


REQUEST = sample_team_history.request("root", sample_team_history.summaries()[-1].seq)


def asked() -> Any:
    first = len(REQUEST.messages)
    items = [SentItem(first + place, f"root:{20 + place}", "result", "memory", 10) for place in (1, 2, 3)]
    return replace(REQUEST, messages=(*REQUEST.messages, *TOLD), items=(*REQUEST.items, *items))


def test_each_memory_is_shown_with_its_search() -> None:
    found = given(asked())
    assert [(each.id, each.asked) for each in found] == [("m1", "which port"), ("m2", "")]
    assert found[0].why == "search: “which port” · score 0.61 · relevance 0.60 · words 0.50 · meaning 0.40"
    assert found[1].why == "read by the agent"
    assert given(REQUEST) == []


async def test_memories_are_listed_and_edited_in_place(pane: ContextPane, atelier: FakeAtelier) -> None:
    memory = Memory(id="m1", type=MemoryType.KNOWLEDGE, content="The port is 9000")
    atelier.set("inspector", "request", lambda *_asked: asked())
    atelier.set("memories", "get", memory)
    atelier.set("memories", "update", memory)
    pane.reload()
    await settle()
    tab = named(pane, QPushButton, "context-tab-memories")
    assert tab.text() == "Memories 2"
    tab.click()
    assert texts(named(pane, QListWidget, "context-items")) == ["The port is 8443", "Tea at four"]
    assert "which port" in named(pane, QPlainTextEdit, "context-details").toPlainText()
    named(pane, QWidget, "context-correct").click()
    await settle()
    dialog = pane.window().findChild(MemoryDialog)
    assert dialog is not None
    assert dialog.content.toPlainText() == "The port is 9000", "as it is now, not as it was given"
    dialog.content.setPlainText("The port is 9443")
    dialog.submit()
    await settle()
    assert atelier.calls("memories.update")[-1][1]["content"] == "The port is 9443"
