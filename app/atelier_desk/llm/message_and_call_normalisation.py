"""Arrange a conversation in an order that every server accepts.

Servers, and chat templates of local models, refuse: a system message that is not first, a tool result without its call
before it, a call without a result, two consecutive messages of one role, an empty assistant message, an assistant
message at the end. Compaction, interrupted runs and injected notes produce all of these.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from operator import attrgetter

from atelier_desk.domain.model_messages import ChatMessage, ImagePart, Role, TextTurns, ToolCall

NO_RESULT = '{"success": false, "error": "The call was cut off; its result is unknown.", "code": "unknown"}'
CONTINUE = "Continue."
ACKNOWLEDGED = "Understood."
_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")


def arrange(messages: Sequence[ChatMessage], *, answer_before_user: bool = False) -> list[ChatMessage]:
    """Return the conversation in a universally valid order.

    There is at most one system message, first; later ones become the user's. Each assistant message with calls is
    followed by exactly one result per call, in order; a result without a call becomes user text, a missing one is
    filled in. Images of tool results move to a user message after them. Messages of the same role are merged; the first
    is the user's, the last the user's or a tool's.

    Args:
        answer_before_user: insert an assistant message between a tool result and a user message, which some Mistral
            models require.
    """
    system = [m.content for m in _leading_system(messages) if m.content.strip()]
    rest = list(messages[len(_leading_system(messages)) :])
    out: list[ChatMessage] = [ChatMessage(role=Role.SYSTEM, content="\n\n".join(system))] if system else []
    if isinstance(messages, TextTurns) or _in_turn(rest):
        return out + rest
    results = _results(rest)
    for message in rest:
        role = message.role
        if role is Role.TOOL:
            if id(message) in results.orphans:
                _append(out, _as_user(message))
        elif role is Role.SYSTEM:
            _append(out, ChatMessage(role=Role.USER, content=message.content))
        elif role is Role.ASSISTANT and message.tool_calls:
            _append(out, message)
            _append_results(out, message, results)
        elif (message.content and not message.content.isspace()) or message.images:
            if out and out[-1].role is not role:
                out.append(message)
            else:
                _append(out, message)
    first = 1 if system else 0
    if len(out) > first and out[first].role is Role.ASSISTANT:
        out.insert(first, ChatMessage(role=Role.USER, content=CONTINUE))
    if answer_before_user:
        out = _with_answers(out)
    if not out or out[-1].role not in (Role.USER, Role.TOOL):
        out.append(ChatMessage(role=Role.USER, content=CONTINUE))
    return out


def _in_turn(messages: Sequence[ChatMessage]) -> bool:
    """Whether the user and the assistant speak in turn, the user first and last, without calls: mostly so, and long."""
    turns = len(messages) // 2
    return (
        [each.role for each in messages] == [Role.USER, Role.ASSISTANT] * turns + [Role.USER]
        and all(map(str.strip, [each.content for each in messages]))
        and not any(map(attrgetter("tool_calls"), messages))
    )


def function_name(name: str) -> str:
    """Return a tool name valid for servers (``^[a-zA-Z0-9_-]{1,64}$``).

    Models invent others, and history repeats them.
    """
    return _NAME.sub("_", name)[:64] or "unknown"


def arguments_text(call: ToolCall) -> str:
    """Return a call's arguments as JSON text; invalid JSON is wrapped in an object, because servers parse it."""
    return json.dumps(arguments_object(call), ensure_ascii=False)


def arguments_object(call: ToolCall) -> dict[str, object]:
    """Return a call's arguments as an object; see ``arguments_text``."""
    if call.raw is not None and call.error and not call.arguments:
        return {"invalid_json": call.raw[:4000]}
    return dict(call.arguments)


def mistral_id(call_id: str) -> str:
    """Return a call id valid for Mistral (nine letters and digits): itself, or a deterministic mapping."""
    if _MISTRAL_ID.fullmatch(call_id):
        return call_id
    number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", errors="replace")).digest())
    digits = ""
    while number:
        number, digit = divmod(number, 62)
        digits = _DIGITS[digit] + digits
    return digits.zfill(9)[:9]


def unused_id(id: str, used: set[str], allowed: re.Pattern[str]) -> str:
    """Return a call id that matches ``allowed`` and is not in ``used``, and add it there."""
    found, number = id if allowed.fullmatch(id) else mistral_id(id), 1
    while found in used:
        number += 1
        found = mistral_id(f"{id} {number}")
    used.add(found)
    return found


def data_url(image: ImagePart) -> str:
    """Return an image as a ``data:`` URL."""
    return f"data:{image.media_type};base64,{image.data}"


class _Results:
    """Tool results of a conversation, matched with their calls."""

    def __init__(self) -> None:
        self.of_call: dict[tuple[int, str], ChatMessage] = {}
        self.orphans: set[int] = set()


def _results(messages: Sequence[ChatMessage]) -> _Results:
    """Match each result with the latest earlier unmatched call of its id."""
    results = _Results()
    open_calls: dict[str, list[int]] = {}
    for message in messages:
        if message.role is Role.ASSISTANT:
            for call in message.tool_calls:
                open_calls.setdefault(call.id, []).append(id(message))
        elif message.role is Role.TOOL:
            waiting = open_calls.get(message.tool_call_id or "")
            if waiting:
                results.of_call[waiting.pop(), message.tool_call_id or ""] = message
            else:
                results.orphans.add(id(message))
    return results


def _append_results(out: list[ChatMessage], message: ChatMessage, results: _Results) -> None:
    images: list[ImagePart] = []
    names = []
    for call in message.tool_calls:
        result = results.of_call.get((id(message), call.id))
        if result is None:
            result = ChatMessage(role=Role.TOOL, content=NO_RESULT, success=False)
        if result.images:
            images.extend(result.images)
            names.append(call.name)
        if result.images or not result.name or result.tool_call_id != call.id:
            named = {"tool_call_id": call.id, "name": result.name or call.name, "images": ()}
            result = result.model_copy(update=named)
        out.append(result)
    if images:
        out.append(ChatMessage(role=Role.USER, content=f"Images from {', '.join(names)}:", images=tuple(images)))


def _append(out: list[ChatMessage], message: ChatMessage) -> None:
    """Add a message, merging it into the previous one if both are plain and of one role."""
    last = out[-1] if out else None
    if last is None or last.role is not message.role or last.tool_calls or message.role is Role.TOOL:
        out.append(message)
        return
    if last.provider_data or message.provider_data:
        # Replies that a server expects back unchanged are not merged.
        out.extend((ChatMessage(role=Role.USER, content=CONTINUE), message))
        return
    joined = "\n\n".join(text for text in (last.content, message.content) if text)
    reasoning = "\n\n".join(text for text in (last.reasoning, message.reasoning) if text)
    update = {
        "content": joined,
        "reasoning": reasoning,
        "images": last.images + message.images,
        "tool_calls": message.tool_calls,
    }
    out[-1] = last.model_copy(update=update)


def _as_user(message: ChatMessage) -> ChatMessage:
    text = f"Result of {message.name or 'a tool'}:\n{message.content}"
    return ChatMessage(role=Role.USER, content=text, images=message.images)


def _with_answers(messages: list[ChatMessage]) -> list[ChatMessage]:
    out: list[ChatMessage] = []
    for message in messages:
        if message.role is Role.USER and out and out[-1].role is Role.TOOL:
            out.append(ChatMessage(role=Role.ASSISTANT, content=ACKNOWLEDGED))
        out.append(message)
    return out


def _leading_system(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    count = 0
    while count < len(messages) and messages[count].role is Role.SYSTEM:
        count += 1
    return messages[:count]
