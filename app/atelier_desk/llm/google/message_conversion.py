"""Conversations in the Gemini API: contents of two roles made of parts.

The server refuses: a number of results that differs from the preceding calls, contents without parts, and, for newer
models, calls of a continued turn with a missing or wrong signature.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, ImagePart, Role
from atelier_desk.llm.encoded_message_cache import EncodedMessages
from atelier_desk.llm.message_and_call_normalisation import arguments_object, arrange, function_name, unused_id
from atelier_desk.llm.replies.part_order import Block, laid_out
from atelier_desk.llm.replies.provider_data import returned

PARTS, SIGNATURE = "parts", "thoughtSignature"
"""Fields of ``provider_data``.

Of a reply its layout, if text or reasoning in it is signed, and of a call its signature.
"""
THOUGHT = "thought"
"""Type of a block of signed reasoning."""
UNSIGNED = "skip_thought_signature_validator"
"""Google's placeholder for calls by another model ("Thought signatures", FAQ): such a call then stays a call."""
SEEN = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
"""Image types that the API accepts."""
_ID = re.compile(r"\S{1,128}")


def contents(messages: Sequence[ChatMessage], *, signed: bool) -> tuple[str, list[dict[str, Any]]]:
    """Return the system prompt and the contents; the first and last are the user's.

    Args:
        signed: the model requires signatures on calls of the continued turn.
    """
    arranged = arrange(messages)
    system = arranged.pop(0).content if arranged[0].role is Role.SYSTEM else ""
    out: list[dict[str, Any]] = []
    used: set[str] = set()
    waiting: list[tuple[str, str]] = []
    for message in arranged:
        if message.tool_calls:
            waiting = [(unused_id(call.id, used, _ID), wire_name(call.name)) for call in message.tool_calls]
            out.append({"role": "model", "parts": _model_parts(message, waiting)})
        elif message.role is Role.TOOL:
            result = _result(message, *waiting.pop(0))
            if _is_results(out[-1]):
                out[-1]["parts"].append(result)
            else:
                out.append({"role": "user", "parts": [result]})
        else:
            out.append(_encoded.one(message))
    if signed:
        _sign(out)
    return system, out


def tools(request: ChatRequest) -> list[dict[str, object]]:
    """Tool definitions."""
    declared = [
        {"name": wire_name(each.name), "description": each.description, "parametersJsonSchema": each.parameters}
        for each in request.tools
    ]
    return [{"functionDeclarations": declared}] if declared else []


def wire_name(name: str) -> str:
    """Return a tool name valid for the API: as for other servers, but never beginning with a digit or dash."""
    found = function_name(name)
    return found if found[0].isalpha() or found[0] == "_" else f"_{found}"[:64]


def _model_parts(message: ChatMessage, named: list[tuple[str, str]]) -> list[Block]:
    calls = [
        {
            "functionCall": {"id": id, "name": name, "args": arguments_object(call)},
            **{field: value for field, value in returned(call.provider_data).items() if field == SIGNATURE},
        }
        for (id, name), call in zip(named, message.tool_calls, strict=True)
    ]
    parts = returned(message.provider_data).get(PARTS)
    found = laid_out(parts, message.content, calls, text=_signed_text)
    if found is None:
        return [*_text(message.content), *calls]
    return [_thought(part) if part.get("type") == THOUGHT else part for part in found] or [{"text": message.content}]


def _signed_text(text: str, block: Block) -> list[Block]:
    """Return text with its signature, which may be alone: it comes in an empty part at the end of a streamed reply."""
    if block.get(SIGNATURE):
        return [{"text": text, SIGNATURE: block[SIGNATURE]}]
    return _text(text)


def _thought(block: Block) -> Block:
    return {"text": block.get("text", ""), "thought": True, SIGNATURE: block.get(SIGNATURE)}


def _sign(contents: list[dict[str, Any]]) -> None:
    """Add placeholder signatures to unsigned calls of the continued turn: only to the first of each content."""
    for content in reversed(contents):
        if content["role"] == "user":
            if not _is_results(content):
                return
            continue
        for index, part in enumerate(content["parts"]):
            if "functionCall" in part:
                content["parts"][index] = {SIGNATURE: UNSIGNED, **part}
                break


def _result(message: ChatMessage, id: str, name: str) -> Block:
    field = "error" if message.success is False else "output"
    return {"functionResponse": {"id": id, "name": name, "response": {field: message.content}}}


def _is_results(content: dict[str, Any]) -> bool:
    return "functionResponse" in content["parts"][0]


def _text(text: str) -> list[Block]:
    return [{"text": text}] if text.strip() else []


def _image(image: ImagePart) -> Block:
    """Return an image; types the API refuses become a note, because they would permanently break the conversation."""
    if image.media_type not in SEEN:
        return {"text": f"[A picture of type {image.media_type}, which cannot be shown to you.]"}
    return {"inlineData": {"mimeType": image.media_type, "data": image.data}}


def _content(message: ChatMessage) -> dict[str, object]:
    """Return a message without calls as contents."""
    if message.role is Role.ASSISTANT:
        return {"role": "model", "parts": _model_parts(message, [])}
    return {"role": "user", "parts": [*_text(message.content), *map(_image, message.images)]}


_encoded = EncodedMessages(_content)
