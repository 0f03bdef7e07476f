"""The actions of the guided dialect.

Tools themselves declare which of their operations performs one (``ToolSpec.abilities``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from atelier_desk.domain.model_messages import ToolCall, ToolSpec


@dataclass(frozen=True, slots=True)
class Action:
    """One action; ``argument`` is the call's field filled from the user's words, if any."""

    name: str
    argument: str = ""


CALCULATE = Action("calculate", "expression")
ADD = Action("add", "name")
LIST = Action("list")
DONE = Action("done", "task_id")
"""Only for explicit messages: the task is found in a list requested first."""
REMEMBER = Action("remember", "content")
RECALL = Action("recall", "query")
ASK = Action("ask", "question")
CHAT = Action("chat")
"""Needs no tool, so it is always offered."""

ACTIONS = (CALCULATE, ADD, LIST, DONE, REMEMBER, RECALL, ASK, CHAT)


def offered(tools: Iterable[ToolSpec]) -> dict[str, Action]:
    """Return the actions that these tools perform, by name; always includes chat."""
    able = {name for tool in tools for name in tool.abilities}
    return {action.name: action for action in ACTIONS if action is CHAT or action.name in able}


def doing(action: Action, tools: Iterable[ToolSpec]) -> tuple[str, str]:
    """Return the first tool that performs an action, and its operation."""
    return next((tool.name, tool.abilities[action.name]) for tool in tools if action.name in tool.abilities)


def action_of(call: ToolCall, tools: Iterable[ToolSpec]) -> Action | None:
    """Return the action of a call, None if no action makes such calls."""
    made = {(tool.name, operation): name for tool in tools for name, operation in tool.abilities.items()}
    name = made.get((call.name, str(call.arguments.get("operation", ""))))
    return next((action for action in ACTIONS if action.name == name), None)
