"""Tool calls for scripted models of the command line."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.model_messages import ToolCall
from tests.helpers.tool_calls import tool_call


def call(name: str, id: str = "c1", **arguments: Any) -> list[ToolCall]:
    return [tool_call(name, id, **arguments)]


def calculate(expression: str, id: str = "c1") -> list[ToolCall]:
    return call("CalculatorTool", id, operation="eval", expression=expression)


def ask(kind: str = "text", id: str = "q1", question: str = "Colour?", **more: Any) -> list[ToolCall]:
    if kind != "text":
        more["options"] = [{"id": "r", "label": "Red"}, {"id": "g", "label": "Green"}]
    return call("UserQuestionTool", id, operation="ask", question=question, questionType=kind, **more)
