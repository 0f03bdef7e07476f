"""Replies of the guided dialect: a call, a question, or text, made from a decided turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from atelier_desk.domain import limits
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.model_messages import ChatReply, ChatRequest, FinishReason, ToolCall, Usage
from atelier_desk.llm.guided import user_message_arguments
from atelier_desk.llm.guided.actions import (
    ADD,
    ASK,
    CALCULATE,
    CHAT,
    DONE,
    LIST,
    RECALL,
    REMEMBER,
    Action,
    action_of,
    doing,
)
from atelier_desk.llm.guided.arithmetic_detection import Arithmetic
from atelier_desk.llm.guided.language_data import Language

RECALL_LIMIT = 5
"""Memories requested by a search; the answer shows the best."""
RECALL_THRESHOLD = 0.4
"""More lenient than the tool's own 0.7: the query is a person's question, not keywords."""


@dataclass
class Turn:
    """Data of one reply, and its usage."""

    request: ChatRequest
    language: Language
    text: str
    actions: dict[str, Action]
    arithmetic: Arithmetic
    usage: Usage = field(default_factory=Usage)
    action: Action = CHAT
    argument: str = ""
    chosen: str = ""


def reply(turn: Turn) -> ChatReply:
    """Return the reply with the action's call, or text if the message lacks what the call needs."""
    action, argument, words = turn.action, turn.argument, turn.language
    if action in (LIST, DONE):
        return calling(turn, LIST)
    if not argument:
        return text(turn, words.text("nothing", ability=words.data["abilities"][action.name]))
    if action is CALCULATE:
        return calling(turn, action, {"expression": argument})
    if action is RECALL:
        return calling(turn, action, {"query": argument, "limit": RECALL_LIMIT, "threshold": RECALL_THRESHOLD})
    if action is ASK:
        return asking(turn, *user_message_arguments.question_for_user(argument, words))
    if ASK.name in turn.actions and not user_message_arguments.explicit(turn.text, action.name, words):
        return confirming(turn, action, argument)
    return writing(turn, action, argument)


def text(turn: Turn, content: str) -> ChatReply:
    return ChatReply(content=content, usage=turn.usage, model=turn.request.model)


def calling(turn: Turn, action: Action, arguments: Mapping[str, object] = MappingProxyType({})) -> ChatReply:
    """Return the reply with one call to the tool that performs the action."""
    name, operation = doing(action, turn.request.tools)
    call = ToolCall(id=f"call_{new_id()}", name=name, arguments={"operation": operation, **arguments})
    return ChatReply(
        tool_calls=(call,), usage=turn.usage, finish_reason=FinishReason.TOOL_CALLS, model=turn.request.model
    )


def writing(turn: Turn, action: Action, argument: str) -> ChatReply:
    if action is REMEMBER:
        kind = user_message_arguments.memory_type(argument, turn.language)
        return calling(turn, action, {"type": kind, "content": argument})
    level, _rest = user_message_arguments.parse_priority(turn.text, turn.language)
    _level, name = user_message_arguments.parse_priority(argument, turn.language)
    arguments = {"name": (name or argument)[: limits.TASK_NAME]}
    return calling(turn, action, arguments if level is None else {**arguments, "priority": level})


def completing(turn: Turn, wanted: str, task_id: str | None) -> ChatReply:
    """Return the call that completes a task, or text that there is none like it."""
    if task_id is None:
        return text(turn, turn.language.text("done_none", text=wanted))
    return calling(turn, DONE, {"task_id": task_id})


def asking(turn: Turn, question: str, options: Sequence[str]) -> ChatReply:
    """Return a question to the user."""
    arguments: dict[str, object] = {"question": question, "questionType": "checkbox" if options else "text"}
    if options:
        arguments["options"] = [{"id": str(number), "label": option} for number, option in enumerate(options, 1)]
    return calling(turn, ASK, arguments)


def confirming(turn: Turn, action: Action, argument: str) -> ChatReply:
    """Return a confirmation question; it contains the argument, so that nothing else must be remembered."""
    words = turn.language
    return asking(turn, words.text(f"confirm_{action.name}", text=argument), (words.text("yes"), words.text("no")))


def confirmed(turn: Turn, call: ToolCall) -> tuple[Action, str] | None:
    """Return the write that a confirmation question was about, None for other calls."""
    if action_of(call, turn.request.tools) is not ASK:
        return None
    question = str(call.arguments.get("question", ""))
    for action in (ADD, REMEMBER):
        before, _, after = turn.language.data["texts"][f"confirm_{action.name}"].partition("{text}")
        if question.startswith(before) and question.endswith(after):
            return action, question[len(before) : len(question) - len(after)]
    return None
