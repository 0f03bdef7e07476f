"""Servers with OpenAI's chat completions: OpenAI, llama.cpp, LM Studio, vLLM, OpenRouter, DeepSeek and others.

They differ in additions, omissions and refusals; comments name the server that a branch is for.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, urlsplit

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, Role
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.llm.encoded_message_cache import EncodedMessages
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.http_provider import HttpProvider
from atelier_desk.llm.message_and_call_normalisation import arguments_text, arrange, data_url, function_name
from atelier_desk.llm.model_assumptions import is_embedder_name, merge_profile
from atelier_desk.llm.network.address_correction import is_azure
from atelier_desk.llm.network.proxy_and_certificates import checked_base_url
from atelier_desk.llm.replies.assembly import StreamParser
from atelier_desk.llm.replies.chat_completion_parser import CALL_FIELDS, ChatCompletionParser
from atelier_desk.llm.replies.provider_data import needs_provider_data, returned

DEFAULT_URL = "https://api.openai.com/v1"
MESSAGE_FIELDS = ("reasoning_details", "reasoning_content", "reasoning")
"""Fields that servers add to a reply and expect back."""
JSON_SCHEMA = "json_schema"
"""Marks a model that refuses JSON schemas. It is then asked for any JSON object (DeepSeek)."""
SYSTEM_MESSAGES = "system messages"
"""Marks a model that refuses system messages. They are then sent as the user's."""
_NO_SYSTEM = re.compile(
    # templates of Gemma on llama.cpp and vLLM: 'System role not supported'; OpenAI's first reasoning models:
    # "'messages[0].role' does not support 'system' with this model"
    r"system (role|messages?|prompts?) (is |are )?not (supported|allowed|enabled)"
    r"|(does not|doesn't|do not) support (the )?['\"]?(system|developer)\b",
    re.IGNORECASE,
)
EMPTY_REASONING = "no reasoning_content"
"""Marks a model that refuses assistant messages without ``reasoning_content``.

DeepSeek requires it on all, whoever wrote them.
"""


class OpenAICompatibleProvider(HttpProvider):
    """Streaming chat completions.

    ``stream_options`` requests usage; ``max_tokens`` becomes ``max_completion_tokens`` if the server wants that; a
    server that refuses one of the ``droppable`` fields is asked again without it, and the field is omitted from then
    on.
    """

    kind = "openai"
    chat_path = "/chat/completions"
    droppable = frozenset(
        {
            "reasoning_effort",
            "stream_options",
            "max_tokens",
            "temperature",
            "seed",
            "stop",
            "response_format",
            "grammar",
            "chat_template_kwargs",
            *MESSAGE_FIELDS,
        }
    )

    @staticmethod
    def base_url(configured: str) -> str:
        """Add ``/v1`` (``/openai/v1`` for Azure) if only a host was given, and remove a pasted chat path."""
        url = checked_base_url(configured or DEFAULT_URL).removesuffix("/chat/completions")
        if urlsplit(url).path.strip("/"):
            return url
        return f"{url.rstrip('/')}/openai/v1" if is_azure(url) else f"{url.rstrip('/')}/v1"

    def payload(self, request: ChatRequest, refused: frozenset[str]) -> dict[str, object]:
        body: dict[str, object] = {
            "model": request.model,
            "messages": self._messages(request, refused),
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": request.max_tokens,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.stop:
            body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed
        if request.response_schema is not None and (not request.tools or self._schema_with_tools()):
            held = json_schema_format(request.response_schema)
            body["response_format"] = {"type": "json_object"} if JSON_SCHEMA in refused else held
        if request.grammar is not None:
            body["grammar"] = request.grammar
        elif request.tools:  # llama.cpp refuses a grammar together with tools
            body["tools"] = wire_tools(request)
        if not request.enable_thinking and not self._is_openai():
            # llama.cpp and vLLM pass it to the model's template
            body["chat_template_kwargs"] = {"enable_thinking": False}
        if request.effort is not None and request.enable_thinking:
            body["reasoning_effort"] = request.effort
        if "max_tokens" in refused:
            body["max_completion_tokens"] = request.max_tokens
        return {field: value for field, value in body.items() if field not in refused}

    def _schema_with_tools(self) -> bool:
        """Whether an answer schema can be combined with tools.

        Other servers also apply it to calls, which makes them impossible.
        """
        return self._is_openai() or is_azure(self.http.base_url)

    def _messages(self, request: ChatRequest, refused: frozenset[str]) -> list[dict[str, object]]:
        said = by_user(request.messages) if SYSTEM_MESSAGES in refused else request.messages
        messages = _encoded.all(arrange(said))
        unwanted, empty = refused.intersection(MESSAGE_FIELDS), EMPTY_REASONING in refused
        if not unwanted and not empty:
            return messages
        messages = [{field: each[field] for field in each if field not in unwanted} for each in messages]
        for message in messages:
            if empty and message["role"] == "assistant":
                message.setdefault("reasoning_content", "")
        return messages

    def refused_fields(self, payload: dict[str, Any], error: ProviderError) -> set[str]:
        """Also return message fields that are sent back to a server: older ones refuse what newer ones require."""
        if needs_provider_data(error):
            return {EMPTY_REASONING} if "reasoning_content" in str(error.params.get("detail", "")) else set()
        asked = payload.get("messages", ())
        system = any(message["role"] == "system" for message in asked)
        if (
            system
            and error.code in ("bad_request", "server_error")
            and _NO_SYSTEM.search(str(error.params.get("detail", "")))
        ):
            return {SYSTEM_MESSAGES}
        sent = {field: None for message in asked for field in MESSAGE_FIELDS if field in message}
        fields = super().refused_fields({**sent, **payload}, error)
        if "response_format" in fields and payload["response_format"]["type"] == JSON_SCHEMA:
            fields = fields - {"response_format"} | {JSON_SCHEMA}
        return fields

    def parser(self, request: ChatRequest, where: ErrorLocation) -> StreamParser:
        return ChatCompletionParser(request, where)

    async def read_models(self, get: Callable[[str, str], Awaitable[object]]) -> list[ModelInfo]:
        """Read ``GET /models`` with the metadata of some servers (vLLM, llama.cpp, OpenRouter, LM Studio)."""
        items = self.items(await get("GET", "/models"), "data", "id")
        models = [self._info(item) for item in items if isinstance(item.get("id"), str) and item["id"]]
        return [merge_profile(self.kind, info, own=self._is_openai()) for info in models]

    async def model_info(self, model: str) -> ModelInfo:
        """Return the listed information; llama.cpp also reports its real context, LM Studio the loaded one."""
        info = await super().model_info(model)
        if self._is_openai() or is_azure(self.http.base_url) or info.source == "server":
            return info
        root = self.http.base_url.removesuffix("/v1")
        props = await self.optional_json(f"{root}/props")
        settings = props.get("default_generation_settings")
        n_ctx = settings.get("n_ctx") if isinstance(settings, dict) else None
        if not isinstance(n_ctx, int):
            lm_studio = await self.optional_json(f"{root}/api/v0/models/{quote(model)}")
            n_ctx = lm_studio.get("loaded_context_length") or lm_studio.get("max_context_length")
        if not isinstance(n_ctx, int) or n_ctx <= 0:
            return info
        return info.model_copy(update={"context_window": n_ctx, "source": "server"})

    def _info(self, item: dict[str, Any]) -> ModelInfo:
        name: str = item["id"]
        window = next(
            (
                item[key]
                for key in ("context_length", "max_model_len", "max_context_length")
                if isinstance(item.get(key), int)
            ),
            None,
        )
        pricing = item["pricing"] if isinstance(item.get("pricing"), dict) else {}
        parameters = item.get("supported_parameters")
        return ModelInfo(
            provider=self.name,
            name=name,
            label=PurePosixPath(name).stem if name.startswith("/") else "",  # llama.cpp's id is the path of the file
            context_window=window if window and window > 0 else None,
            supports_tools="tools" in parameters if isinstance(parameters, list) else None,
            embedding=item.get("type") == "embeddings" or is_embedder_name(name),
            price_input=_per_million(pricing.get("prompt")),
            price_output=_per_million(pricing.get("completion")),
            source="server" if window else "assumed",
        )

    def _is_openai(self) -> bool:
        return urlsplit(self.http.base_url).hostname == "api.openai.com"


def by_user(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Move system messages to the beginning of the user's first message."""
    system = "\n\n".join(message.content for message in messages if message.role is Role.SYSTEM)
    rest = [message for message in messages if message.role is not Role.SYSTEM]
    if not rest or rest[0].role is not Role.USER:
        return (ChatMessage(role=Role.USER, content=system), *rest)
    return (rest[0].model_copy(update={"content": f"{system}\n\n{rest[0].content}".strip()}), *rest[1:])


def wire_message(message: ChatMessage) -> dict[str, object]:
    """Return a message in the format of chat completions. Reasoning is only sent if the server expects it back."""
    if message.role is Role.TOOL:
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
    wire: dict[str, object] = {"role": message.role, "content": message.content}
    if message.provider_data is not None:
        data = returned(message.provider_data)
        wire |= {field: data[field] for field in MESSAGE_FIELDS if field in data}
    if message.images:
        parts: list[dict[str, object]] = [{"type": "text", "text": message.content}] if message.content else []
        parts.extend({"type": "image_url", "image_url": {"url": data_url(image)}} for image in message.images)
        wire["content"] = parts
    if message.tool_calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": function_name(call.name), "arguments": arguments_text(call)},
                **{field: value for field, value in returned(call.provider_data).items() if field in CALL_FIELDS},
            }
            for call in message.tool_calls
        ]
    return wire


_encoded = EncodedMessages(wire_message)


def wire_tools(request: ChatRequest) -> list[dict[str, object]]:
    """Return tool definitions in the common format of OpenAI, Mistral and Ollama."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in request.tools
    ]


def json_schema_format(schema: dict[str, object]) -> dict[str, Any]:
    """Return ``response_format`` for a schema; ``strict`` only if OpenAI accepts it."""
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": _is_strict(schema)}}


def _per_million(price: Any) -> float | None:
    """Convert OpenRouter's price per token (text) to per million; -1 means variable."""
    try:
        value = float(price)
    except (TypeError, ValueError):
        return None
    return round(value * 1_000_000, 6) if value >= 0 else None


def _is_strict(schema: object) -> bool:
    """Whether every object in a schema forbids additional fields and requires all its own, as OpenAI's strict mode
    demands.
    """
    if isinstance(schema, list):
        return all(_is_strict(item) for item in schema)
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or properties is not None:
        names = set(properties) if isinstance(properties, dict) else set()
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != names:
            return False
    return all(_is_strict(value) for value in schema.values())
