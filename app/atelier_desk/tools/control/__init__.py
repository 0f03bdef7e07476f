"""Control tools: what a model says to the loop itself. The loop stops at such a call and goes on when its result is there.

Every agent has them, in every tool mode, without listing them; only a guided model, which calls no tools by itself, is not shown them.
"""

from __future__ import annotations

from atelier_desk.domain.chat import ToolSpec
from atelier_desk.tools.base import Tool
from atelier_desk.tools.control.answer_child import AnswerChildTool
from atelier_desk.tools.control.finish import TaskAbandon, TaskComplete
from atelier_desk.tools.control.invoke import InvokeTool
from atelier_desk.tools.control.output import OutputTool
from atelier_desk.tools.control.wait_parent import WaitParent
from atelier_desk.tools.control.wait_user_response import WaitUserResponse

CONTROL_TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (WaitUserResponse(), OutputTool(), TaskComplete(), TaskAbandon(), WaitParent(), InvokeTool(), AnswerChildTool())
}
"""The control tools by name: six that any run may have, and the answer to a sub-agent, offered while one waits for it."""


def get_control_tool(name: str) -> Tool | None:
    return CONTROL_TOOLS.get(name)


def is_control_tool(name: str) -> bool:
    return name in CONTROL_TOOLS


def control_tools() -> list[ToolSpec]:
    """The definitions of all control tools."""
    return [tool.definition() for tool in CONTROL_TOOLS.values()]


__all__ = ["CONTROL_TOOLS", "control_tools", "get_control_tool", "is_control_tool"]
