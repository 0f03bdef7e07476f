"""Send ``provider_data`` back to its own server only.

Servers that verify it refuse calls made by another model, or with an outdated signature (another key or route). Such
calls are sent as text, which every server accepts, so that a conversation survives a change of model.
"""

from __future__ import annotations

import re

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, TextTurns, ToolCall
from atelier_desk.domain.opaque_provider_data import ProviderData
from atelier_desk.llm.message_and_call_normalisation import arguments_text
from atelier_desk.llm.secrets import redact
from atelier_desk.llm.token_and_cost_estimates import attached

_THINKING = r"(redacted_)?thinking(?![ _](budget|level|config))"
_NAMES = rf"thought[_ ]?signatures?|reasoning_content|reasoning_details|encrypted_content|signature|{_THINKING}"
_WANTED = re.compile(
    # Gemini: 'Function call is missing a thought_signature in functionCall parts'; DeepSeek: 'Missing
    # `reasoning_content` field in the assistant message'; Anthropic: 'Invalid `signature` in `thinking` block',
    # 'Expected `thinking` or `redacted_thinking`, but found'
    rf"(missing|invalid|corrupted|expected|could not be (decrypted|verified))\b[^.]{{0,40}}?[\s`'\"]({_NAMES})\b"
    # DeepSeek: 'The `reasoning_content` in the thinking mode must be passed back to the API'; Kimi: 'reasoning_content
    # is missing in' OpenAI: 'The encrypted content gAAA… could not be verified. Reason: …', 'Item with id 'rs_1' not
    # found. Items are not persisted when `store` is set to false.', 'Item 'rs_1' of type 'reasoning' was provided
    # without its required following item.'
    r"|encrypted content\b.{0,300}?\bcould not be|\bitem with id '\w+' not found|\bwithout its required\b"
    # Anthropic: '`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified'
    rf"|\b({_NAMES})\b[^.]{{0,60}}\b(must be|is missing|is required|is invalid|could not be|cannot be modified)\b",
    re.IGNORECASE,
)


def storable(provider: str, model: str, value: dict[str, object]) -> ProviderData | None:
    """Return the value to store from a reply.

    None if there is none, or if it contains an API key, which must not reach the disk.
    """
    if not value:
        return None
    packed = ProviderData.pack(provider, model, value)
    return packed.model_copy(update={"data": ""}) if _has_secret(value) else packed


def _has_secret(value: object) -> bool:
    if isinstance(value, str):
        return redact(value) != value
    if isinstance(value, dict):
        return any(_has_secret(each) for pair in value.items() for each in pair)
    return isinstance(value, list) and any(_has_secret(each) for each in value)


def returned(data: ProviderData | None) -> dict[str, object]:
    """Return the fields to send back with a message or call; empty if there are none."""
    return data.value() if data is not None else {}


def for_server(request: ChatRequest, provider: str, *, signed_only: bool = False, none: bool = False) -> ChatRequest:
    """Return the request for one provider, without data of others.

    Args:
        signed_only: send calls without data of this provider and model as text.
        none: drop its own data too, and send every call that had some as text.
    """
    if isinstance(request.messages, TextTurns):
        return request
    messages = tuple(
        [
            _for_server(message, provider, request.model, signed_only=signed_only, none=none)
            if message.tool_calls or message.provider_data is not None
            else message
            for message in request.messages
        ]
    )
    return request.model_copy(update={"messages": messages})


def _for_server(message: ChatMessage, provider: str, model: str, *, signed_only: bool, none: bool) -> ChatMessage:
    def own(data: ProviderData | None) -> ProviderData | None:
        return data if data is not None and not none and data.belongs_to(provider, model) else None

    if not (signed_only or none) and all(map(own, attached(message.provider_data, message.tool_calls))):
        return message
    calls = tuple(call.model_copy(update={"provider_data": own(call.provider_data)}) for call in message.tool_calls)
    data = own(message.provider_data)
    if calls and (signed_only or none) and not (data or any(call.provider_data for call in calls)):
        told = "\n".join(filter(None, (message.content, *map(_as_text, calls))))
        return message.model_copy(update={"content": told, "tool_calls": (), "provider_data": None})
    if calls == message.tool_calls and data is message.provider_data:
        return message
    return message.model_copy(update={"tool_calls": calls, "provider_data": data})


def _as_text(call: ToolCall) -> str:
    return f"[Called {call.name} with {arguments_text(call)}]"


def needs_provider_data(error: ProviderError) -> bool:
    """Whether a server refused a request because expected data was missing or altered."""
    return (
        error.code in ("bad_request", "not_found") and _WANTED.search(str(error.params.get("detail", ""))) is not None
    )
