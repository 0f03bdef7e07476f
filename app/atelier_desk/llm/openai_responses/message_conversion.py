"""Conversations in the Responses API: instructions and a list of items.

The server refuses: a call without its output and vice versa, call ids over 64 characters, reasoning that is not
followed by its reply, and reasoning by another server or model. Items are sent without ids of texts and calls: nothing
is stored on the server, so it could not find them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, Role
from atelier_desk.llm.encoded_message_cache import EncodedMessages
from atelier_desk.llm.message_and_call_normalisation import arguments_text, arrange, data_url, function_name, unused_id
from atelier_desk.llm.replies.part_order import Block, blocks_of, laid_out
from atelier_desk.llm.replies.provider_data import returned

ITEMS, REASONING = "items", "reasoning"
"""Field of ``provider_data`` with the layout of a reply that has reasoning or phases, and the type of items stored
completely.
"""
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def items(messages: Sequence[ChatMessage]) -> tuple[str, list[Block]]:
    """Return the system prompt and the items; the first is the user's, the last the user's or an output."""
    arranged = arrange(messages)
    system = arranged.pop(0).content if arranged[0].role is Role.SYSTEM else ""
    out: list[Block] = []
    used: set[str] = set()
    open_ids: list[str] = []
    for message in arranged:
        if message.role is Role.TOOL:
            out.append({"type": "function_call_output", "call_id": open_ids.pop(0), "output": message.content})
        elif message.tool_calls or message.provider_data is not None or message.images:
            open_ids = [unused_id(call.id, used, _ID) for call in message.tool_calls]
            out += _converted(message, open_ids)
        else:
            out.append(_encoded.one(message))
    return system, out


def tools(request: ChatRequest) -> list[dict[str, object]]:
    """Return tool definitions. Explicitly not strict: strict is the default, and allows few schemas."""
    return [
        {
            "type": "function",
            "name": each.name,
            "description": each.description,
            "parameters": each.parameters,
            "strict": False,
        }
        for each in request.tools
    ]


def cache_key(system: str, items: Sequence[Block]) -> str:
    """Return a key shared by all requests of a conversation: the server routes them to the cache with its beginning."""
    return hashlib.sha256(f"{system}\0{items[0]}".encode("utf-8", "replace")).hexdigest()[:32]


def _converted(message: ChatMessage, ids: list[str]) -> list[Block]:
    if message.role is Role.USER:
        return [{"type": "message", "role": "user", "content": _asked(message)}]
    calls = [
        {"type": "function_call", "call_id": id, "name": function_name(call.name), "arguments": arguments_text(call)}
        for id, call in zip(ids, message.tool_calls, strict=True)
    ]
    kept = returned(message.provider_data).get(ITEMS)
    found = laid_out(kept, message.content, calls, text=_text)
    if found is None:
        found = [
            *(block for block in blocks_of(kept) if block.get("type") == REASONING),
            *_text(message.content, {}),
            *calls,
        ]
    while found and found[-1]["type"] == REASONING:
        found.pop()
    return found or _text(message.content, {})


def _text(text: str, block: Block) -> list[Block]:
    phase = {"phase": block["phase"]} if block.get("phase") else {}
    return [{"type": "message", "role": "assistant", "content": text, **phase}] if text.strip() else []


def _asked(message: ChatMessage) -> list[Block]:
    parts: list[Block] = [{"type": "input_text", "text": message.content}] if message.content.strip() else []
    return parts + [{"type": "input_image", "image_url": data_url(image), "detail": "auto"} for image in message.images]


_encoded = EncodedMessages(lambda message: _converted(message, [])[0])
