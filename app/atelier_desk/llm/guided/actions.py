"""The actions the guided dialect knows, and the tool each one needs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Action:
    """One action. ``writes`` when it changes what is stored; ``argument`` is the call's field that the user's words fill, if any."""

    name: str
    tools: tuple[str, ...] = ()
    operation: str = ""
    argument: str = ""
    writes: bool = False


CALCULATE = Action("calculate", ("CalculatorTool",), "eval", "expression")
ADD = Action("add", ("TodoTool",), "create", "name", writes=True)
LIST = Action("list", ("TodoTool",), "list")
DONE = Action("done", ("TodoTool",), "complete", "task_id", writes=True)
"""Only for messages worded as such: the task is found in a list asked for first."""
REMEMBER = Action("remember", ("MemoryTool",), "add", "content", writes=True)
RECALL = Action("recall", ("MemoryTool",), "search", "query")
ASK = Action("ask", ("UserQuestionTool", "wait_user_response"), "ask", "question")
CHAT = Action("chat")

ACTIONS = (CALCULATE, ADD, LIST, DONE, REMEMBER, RECALL, ASK, CHAT)


def offered(tools: Collection[str]) -> dict[str, Action]:
    """The actions whose tool is among these names, by name; chat is always one."""
    return {action.name: action for action in ACTIONS if not action.tools or any(tool in tools for tool in action.tools)}


def action_of(tool: str, arguments: dict[str, Any]) -> Action | None:
    """The action a call came from, None when no action makes such a call."""
    for action in ACTIONS:
        if tool in action.tools and (tool == "wait_user_response" or arguments.get("operation") == action.operation):
            return action
    return None
