"""Tool calls of scripted models: questions, tasks, memories, reports, calculations."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.model_messages import ToolCall
from tests.helpers.tool_calls import tool_call

COLOURS = [{"id": "red", "label": "Red"}, {"id": "green", "label": "Green"}, {"id": "blue", "label": "Blue"}]


def ask_user(call_id: str, question: str, kind: str, **more: Any) -> ToolCall:
    """A question; ``kind`` is checkbox, text or mixed."""
    arguments: dict[str, Any] = {"operation": "ask", "question": question, "questionType": kind}
    if kind != "text":
        arguments["options"] = COLOURS
    return ToolCall(id=call_id, name="UserQuestionTool", arguments=arguments | more)


def task(call_id: str, name: str, **more: Any) -> ToolCall:
    return tool_call("TodoTool", call_id, operation="create", name=name, **more)


def remember(call_id: str, content: str) -> ToolCall:
    arguments = {"operation": "add", "type": "knowledge", "content": content, "tags": ["harbour"]}
    return tool_call("MemoryTool", call_id, **arguments)


def report(call_id: str, name: str, content: str) -> ToolCall:
    return tool_call("ReportTool", call_id, operation="write", name=name, content=content)


def calculate(call_id: str, expression: str) -> ToolCall:
    return tool_call("CalculatorTool", call_id, operation="eval", expression=expression)
