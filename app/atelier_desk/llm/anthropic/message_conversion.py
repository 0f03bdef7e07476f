"""Conversations in the Messages API: alternating turns made of blocks, and cache marks.

The server refuses: two turns of one role in a row, a call without its result in the very next turn, a result after the
text of its turn, duplicate ids, blocks without text, and altered reasoning.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, ImagePart, Role
from atelier_desk.llm.encoded_message_cache import EncodedMessage, EncodedMessages
from atelier_desk.llm.message_and_call_normalisation import arguments_object, arrange, function_name, unused_id
from atelier_desk.llm.replies.part_order import Block, blocks_of, laid_out
from atelier_desk.llm.replies.provider_data import returned

BLOCKS = "blocks"
"""Field of ``provider_data``: the layout of a reply, with complete reasoning."""
THOUGHTS = ("thinking", "redacted_thinking")
MARK = {"type": "ephemeral"}
MARKED_TURNS = 2
"""Number of marked user turns: up to the last but one the cache was written before, up to the last it is written now.

With the marks of tools and system prompt these are the API's maximum of four.
"""
_ID = re.compile(r"[a-zA-Z0-9_-]+")


def turns(messages: Sequence[ChatMessage]) -> tuple[str, list[dict[str, Any]]]:
    """Return the system prompt and the alternating turns, the user's first, each with at least one block."""
    arranged = arrange(messages)
    system = arranged.pop(0).content if arranged[0].role is Role.SYSTEM else ""
    out: list[dict[str, object]] = []
    used: set[str] = set()
    open_ids: list[str] = []
    for message in arranged:
        if message.role is Role.TOOL:
            _append(out, {"role": "user", "content": [_result(message, open_ids.pop(0))]})
        elif message.tool_calls or message.provider_data is not None:
            open_ids = [unused_id(call.id, used, _ID) for call in message.tool_calls]
            _append(out, _turn(message, open_ids))
        else:
            _append(out, _encoded.one(message))
    return system, out


def thinks(turn: list[dict[str, Any]]) -> bool:
    """Whether the continued assistant turn began with reasoning; True if there is none."""
    first: dict[str, Any] | None = None
    for message in reversed(turn):
        if message["role"] == "assistant":
            first = message
        elif not any(block["type"] == "tool_result" for block in message["content"]):
            break
    return first is None or first["content"][0]["type"] in THOUGHTS


def without_thoughts(conversation: list[dict[str, Any]]) -> list[dict[str, object]]:
    """Return the turns without reasoning, for a request without it."""
    return [
        turn
        if isinstance(turn, EncodedMessage)
        else {**turn, "content": [block for block in turn["content"] if block["type"] not in THOUGHTS]}
        for turn in conversation
    ]


def tools(request: ChatRequest, conversation: list[dict[str, Any]]) -> dict[str, object]:
    """Return the fields ``tools`` and ``tool_choice``; empty without calls.

    A conversation with calls must include their tools, even if none is offered any more.
    """
    if request.tools:
        return {
            "tools": [
                {"name": each.name, "description": each.description, "input_schema": each.parameters}
                for each in request.tools
            ]
        }
    blocks = itertools.chain.from_iterable(turn["content"] for turn in conversation)
    names = dict.fromkeys(block["name"] for block in blocks if block["type"] == "tool_use")
    if not names:
        return {}
    return {
        "tools": [{"name": name, "input_schema": {"type": "object"}} for name in names],
        "tool_choice": {"type": "none"},
    }


def mark(body: dict[str, Any]) -> None:
    """Mark what the server should cache for the next request: tools, system prompt, newest turns.

    A single question without tools is not cached.
    """
    if body.get("tools"):
        body["tools"] = _marked(body["tools"])
    if body.get("system"):
        body["system"] = _marked(body["system"])
    turns = body["messages"]
    asked = [position for position, turn in enumerate(turns) if turn["role"] == "user"]
    if len(asked) > 1 or "tools" in body:
        for position in asked[-MARKED_TURNS:]:
            turns[position] = {**turns[position], "content": _marked(turns[position]["content"])}


def _marked(blocks: list[Block]) -> list[Block]:
    return [*blocks[:-1], {**blocks[-1], "cache_control": MARK}]


def _append(out: list[dict[str, Any]], turn: dict[str, Any]) -> None:
    if out and out[-1]["role"] == turn["role"]:
        out[-1] = {**turn, "content": [*out[-1]["content"], *turn["content"]]}
    elif turn["content"]:
        out.append(turn)


def _turn(message: ChatMessage, ids: list[str]) -> dict[str, object]:
    if message.role is Role.ASSISTANT:
        return {"role": "assistant", "content": _assistant_blocks(message, ids)}
    return {"role": "user", "content": [*_text(message.content), *map(_image, message.images)]}


def _assistant_blocks(message: ChatMessage, ids: list[str]) -> list[Block]:
    calls = [
        {"type": "tool_use", "id": id, "name": function_name(call.name), "input": arguments_object(call)}
        for id, call in zip(ids, message.tool_calls, strict=True)
    ]
    kept = returned(message.provider_data).get(BLOCKS)
    thoughts = [block for block in blocks_of(kept) if block.get("type") in THOUGHTS]
    found = laid_out(kept, message.content, calls, text=lambda text, _block: _text(text)) if thoughts else None
    return found if found is not None else [*thoughts, *_text(message.content), *calls]


def _result(message: ChatMessage, id: str) -> Block:
    content = message.content if message.content.strip() else ""
    block: Block = {"type": "tool_result", "tool_use_id": id, "content": content}
    return {**block, "is_error": True} if message.success is False and content else block  # an error must have content


def _text(text: str) -> list[Block]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _image(image: ImagePart) -> Block:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}


_encoded = EncodedMessages(lambda message: _turn(message, []))
