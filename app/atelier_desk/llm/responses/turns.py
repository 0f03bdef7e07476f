"""A conversation as the Responses API has it: instructions and a list of items.

The server refuses: a call without its output and an output without its call, ids of calls over 64 characters, reasoning that nothing of
its reply follows, and reasoning that it did not write itself or that another model did. Items go back without the ids of texts and calls:
nothing is kept on the server, so that it could not find them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, Role
from atelier_desk.llm.replies.layout import Block, blocks_of, laid_out
from atelier_desk.llm.replies.messages import arguments_text, arrange, data_url, function_name, unused_id
from atelier_desk.llm.replies.provider_data import returned

ITEMS, REASONING = "items", "reasoning"
"""The field of ``provider_data``: the layout of a reply, where it holds reasoning or phases. And the type of items that are kept whole."""
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def items(messages: Sequence[ChatMessage]) -> tuple[str, list[Block]]:
    """The system prompt and the items; the first is the user's, the last the user's or an output."""
    arranged = arrange(messages)
    system = arranged.pop(0).content if arranged[0].role is Role.SYSTEM else ""
    out: list[Block] = []
    used: set[str] = set()
    open_ids: list[str] = []
    for message in arranged:
        if message.role is Role.ASSISTANT:
            open_ids = [unused_id(call.id, used, _ID) for call in message.tool_calls]
            out += _said(message, open_ids)
        elif message.role is Role.TOOL:
            out.append({"type": "function_call_output", "call_id": open_ids.pop(0), "output": message.content})
        else:
            out.append({"type": "message", "role": "user", "content": _asked(message)})
    return system, out


def tools(request: ChatRequest) -> list[dict[str, Any]]:
    """Tool definitions. Not strict: that allows few schemas, and would be assumed."""
    return [
        {"type": "function", "name": each.name, "description": each.description, "parameters": each.parameters, "strict": False}
        for each in request.tools
    ]


def cache_key(system: str, items: Sequence[Block]) -> str:
    """The same for all requests of a conversation: the server sends them where the beginning of it is in the cache."""
    return hashlib.sha256(f"{system}\0{items[0]}".encode("utf-8", "replace")).hexdigest()[:32]


def _said(message: ChatMessage, ids: list[str]) -> list[Block]:
    calls = [
        {"type": "function_call", "call_id": id, "name": function_name(call.name), "arguments": arguments_text(call)}
        for id, call in zip(ids, message.tool_calls, strict=True)
    ]
    kept = returned(message.provider_data).get(ITEMS)
    found = laid_out(kept, message.content, calls, text=_text)
    if found is None:
        found = [*(block for block in blocks_of(kept) if block.get("type") == REASONING), *_text(message.content, {}), *calls]
    while found and found[-1]["type"] == REASONING:
        found.pop()
    return found or _text(message.content, {})


def _text(text: str, block: Block) -> list[Block]:
    phase = {"phase": block["phase"]} if block.get("phase") else {}
    return [{"type": "message", "role": "assistant", "content": text, **phase}] if text.strip() else []


def _asked(message: ChatMessage) -> list[Block]:
    parts: list[Block] = [{"type": "input_text", "text": message.content}] if message.content.strip() else []
    return parts + [{"type": "input_image", "image_url": data_url(image), "detail": "auto"} for image in message.images]
