"""Mistral's own API. It refuses undocumented request fields, and call ids that are not nine letters and digits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, Role
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.llm.encoded_message_cache import EncodedMessages
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.http_provider import HttpProvider
from atelier_desk.llm.message_and_call_normalisation import arguments_text, arrange, data_url, function_name, mistral_id
from atelier_desk.llm.model_assumptions import bare_name, is_embedder_name, merge_profile
from atelier_desk.llm.network.proxy_and_certificates import checked_base_url
from atelier_desk.llm.openai_compatible import json_schema_format, wire_tools
from atelier_desk.llm.replies.assembly import StreamParser
from atelier_desk.llm.replies.chat_completion_parser import ChatCompletionParser
from atelier_desk.llm.replies.provider_data import returned
from atelier_desk.llm.replies.typed_json_fields import flag, object_of, positive

DEFAULT_URL = "https://api.mistral.ai/v1"
HOTTEST = 1.5
"""Maximum temperature of the API."""


class MistralProvider(HttpProvider):
    """Chat with Mistral's models. Usage comes with the last chunk without being requested.

    Foreign call ids are deterministically mapped to nine characters; Mistral's own stay unchanged.
    """

    kind = "mistral"
    chat_path = "/chat/completions"
    droppable = frozenset({"reasoning_effort", "random_seed", "response_format"})

    @staticmethod
    def base_url(configured: str) -> str:
        """Add ``/v1`` if only a host was given."""
        url = checked_base_url(configured or DEFAULT_URL).removesuffix("/chat/completions")
        return url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}/v1"

    def payload(self, request: ChatRequest, refused: frozenset[str]) -> dict[str, Any]:
        adjustable = _adjustable_reasoning(request.model)
        thinks = (adjustable and "reasoning_effort" not in refused) or "magistral" in bare_name(request.model)
        body: dict[str, object] = {
            "model": request.model,
            "messages": _encoded[thinks].all(arrange(request.messages, answer_before_user=True)),
            "stream": True,
            "max_tokens": request.max_tokens,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature_up_to(HOTTEST)
        if request.stop:
            body["stop"] = list(request.stop)
        if request.seed is not None:
            body["random_seed"] = request.seed
        if request.response_schema is not None:
            body["response_format"] = json_schema_format(request.response_schema)
        if request.tools:
            body["tools"] = wire_tools(request)
        if adjustable:
            body["reasoning_effort"] = (request.effort or "high") if request.enable_thinking else "none"
        return {field: value for field, value in body.items() if field not in refused}

    def parser(self, request: ChatRequest, where: ErrorLocation) -> StreamParser:
        return ChatCompletionParser(request, where)

    async def read_models(self, get: Callable[[str, str], Awaitable[object]]) -> list[ModelInfo]:
        """Return chat models and embedders, without models for transcription, moderation or OCR only."""
        infos = [
            self._info(item)
            for item in self.items(await get("GET", "/models"), "data", "id")
            if isinstance(item.get("id"), str)
        ]
        return [merge_profile(self.kind, info) for info in infos if info is not None]

    def _info(self, item: dict[str, Any]) -> ModelInfo | None:
        capabilities = object_of(item, "capabilities")
        chat = capabilities.get("completion_chat", True)
        embedding = not capabilities.get("completion_chat") and is_embedder_name(item["id"])
        if not (chat or embedding):
            return None
        label = item.get("name") or ""
        return ModelInfo(
            provider=self.name,
            name=item["id"],
            label=label if label != item["id"] else "",
            context_window=positive(item.get("max_context_length")),
            supports_tools=flag(capabilities.get("function_calling")),
            supports_vision=flag(capabilities.get("vision")),
            supports_thinking=flag(capabilities.get("reasoning")),
            embedding=embedding,
            source="server",
        )


def _adjustable_reasoning(model: str) -> bool:
    """Whether ``reasoning_effort`` controls a model's reasoning.

    Small since 2603, Medium since 3.5. If refused, it is omitted.
    """
    name = bare_name(model)
    return (
        name.endswith(("mistral-small-latest", "mistral-small-2603", "mistral-medium-latest"))
        or "mistral-medium-3" in name
    )


def _wire(message: ChatMessage, thinks: bool) -> dict[str, object]:
    if message.role is Role.TOOL:
        return {
            "role": "tool",
            "tool_call_id": mistral_id(message.tool_call_id or ""),
            "name": function_name(message.name or ""),
            "content": message.content,
        }
    wire: dict[str, object] = {"role": message.role.value, "content": message.content}
    if message.images:
        parts: list[dict[str, object]] = [{"type": "text", "text": message.content}] if message.content else []
        parts.extend({"type": "image_url", "image_url": data_url(image)} for image in message.images)
        wire["content"] = parts
    thinking = returned(message.provider_data).get("thinking_parts")
    if isinstance(thinking, list) and thinks:
        wire["content"] = [*thinking, *([{"type": "text", "text": message.content}] if message.content else [])]
    if message.tool_calls:
        wire["tool_calls"] = [
            {
                "id": mistral_id(call.id),
                "type": "function",
                "function": {"name": function_name(call.name), "arguments": arguments_text(call)},
            }
            for call in message.tool_calls
        ]
    return wire


_encoded = {thinks: EncodedMessages(partial(_wire, thinks=thinks)) for thinks in (False, True)}
