"""Ollama's own API: lines of JSON, arguments as objects, and a context that must be requested."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from atelier_desk.domain.model_messages import ChatDelta, ChatMessage, ChatRequest, FinishReason, Role, Usage
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.llm.encoded_message_cache import EncodedMessages
from atelier_desk.llm.error_conversion import ErrorLocation, payload_error, provider_error
from atelier_desk.llm.http_provider import HttpProvider, counted_tokens
from atelier_desk.llm.message_and_call_normalisation import arguments_object, arrange, function_name
from atelier_desk.llm.model_assumptions import is_embedder_name, merge_profile
from atelier_desk.llm.network.proxy_and_certificates import checked_base_url
from atelier_desk.llm.network.sse import LineDecoder
from atelier_desk.llm.openai_compatible import wire_tools
from atelier_desk.llm.replies.assembly import ReplyAssembler, StreamParser
from atelier_desk.llm.replies.provider_data import returned
from atelier_desk.llm.replies.reasoning_parts import ReasoningParts
from atelier_desk.llm.token_and_cost_estimates import estimate_request

DEFAULT_URL = "http://localhost:11434"
DEFAULT_WINDOW = 8_192
"""Default context in tokens; Ollama's own default (4,096 on most machines) silently cuts long prompts."""


class OllamaProvider(HttpProvider):
    """Chat with a local Ollama server, or ``https://ollama.com`` with a key.

    ``num_ctx`` is always sent. ``truncate`` and ``shift`` are off, so that a too long prompt is an error instead of
    losing its beginning. ``think`` is sent as False or as the chosen effort: without it a reasoning model reasons, and
    others refuse anything but False, and are then asked again without it.
    """

    kind = "ollama"
    chat_path = "/api/chat"
    droppable = frozenset({"think", "format"})

    @staticmethod
    def base_url(configured: str) -> str:
        """Return the server's root, even if an API address was given."""
        return (
            checked_base_url(configured or DEFAULT_URL)
            .removesuffix("/chat")
            .removesuffix("/api")
            .removesuffix("/v1")
            .rstrip("/")
        )

    def payload(self, request: ChatRequest, refused: frozenset[str]) -> dict[str, object]:
        options: dict[str, object] = {
            "num_ctx": request.context_window or DEFAULT_WINDOW,
            "num_predict": request.max_tokens,
        }
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if request.seed is not None:
            options["seed"] = request.seed
        if request.stop:
            options["stop"] = list(request.stop)
        body: dict[str, object] = {
            "model": request.model,
            "messages": _encoded.all(arrange(request.messages)),
            "stream": True,
            "truncate": False,
            "shift": False,
            "options": options,
        }
        if request.tools:
            body["tools"] = wire_tools(request)
        # restricted to a schema, a model could not call them
        if request.response_schema is not None and not request.tools:
            body["format"] = request.response_schema
        if not request.enable_thinking:
            body["think"] = False
        elif request.effort is not None:
            body["think"] = request.effort
        return {field: value for field, value in body.items() if field not in refused}

    def parser(self, request: ChatRequest, where: ErrorLocation) -> StreamParser:
        return OllamaParser(request, where)

    async def read_models(self, get: Callable[[str, str], Awaitable[object]]) -> list[ModelInfo]:
        """Read ``GET /api/tags``."""
        models = self.items(await get("GET", "/api/tags"), "models")
        infos = [self._info(item) for item in models if isinstance(item.get("name"), str)]
        return [merge_profile(self.kind, info) for info in infos]

    async def model_info(self, model: str) -> ModelInfo:
        """Read ``POST /api/show``: capabilities and trained context."""
        shown = await self.json("POST", "/api/show", {"model": model}, model=model)
        if not isinstance(shown, dict):
            raise provider_error(self.http.where(model, "/api/show"), "bad_response", "no model")
        facts = shown["model_info"] if isinstance(shown.get("model_info"), dict) else {}
        window = facts.get(f"{facts.get('general.architecture')}.context_length")
        item = {"name": model, "capabilities": shown.get("capabilities"), "details": {"context_length": window}}
        return merge_profile(self.kind, self._info(item))

    async def embeddings(self, payload: dict[str, object], model: str) -> tuple[object, int | None]:
        answer = await self.json("POST", "/api/embed", payload, model=model)
        return answer.get("embeddings") if isinstance(answer, dict) else None, counted_tokens(
            answer, "prompt_eval_count"
        )

    def _info(self, item: dict[str, Any]) -> ModelInfo:
        details = item["details"] if isinstance(item.get("details"), dict) else {}
        capabilities = item["capabilities"] if isinstance(item.get("capabilities"), list) else None
        window = details.get("context_length")
        size = item.get("size")
        embedding = (
            is_embedder_name(item["name"])
            if capabilities is None
            else "embedding" in capabilities and "completion" not in capabilities
        )

        def can(capability: str) -> bool | None:
            return None if capabilities is None else capability in capabilities

        return ModelInfo(
            provider=self.name,
            name=item["name"],
            context_window=window if isinstance(window, int) and window > 0 else None,
            supports_tools=can("tools"),
            supports_vision=can("vision"),
            supports_thinking=can("thinking"),
            embedding=embedding,
            size_bytes=size if isinstance(size, int) else None,
            source="server" if capabilities is not None else "assumed",
        )


class OllamaParser:
    """Parses the lines of a chat; a single JSON answer is one line."""

    def __init__(self, request: ChatRequest, where: ErrorLocation) -> None:
        self._lines = LineDecoder()
        self._assembler = ReplyAssembler(request, where.provider)
        self._parts = ReasoningParts()
        self._request = request
        self._where = where
        self._calls = 0
        self.complete = False
        self.ended = False

    def feed(self, data: bytes) -> list[ChatDelta]:
        return self._parse_lines(self._lines.feed(data))

    def close(self) -> list[ChatDelta]:
        deltas = self._parse_lines(self._lines.flush())
        if not self.ended:
            raise provider_error(self._where, "truncated", "no end mark")
        if self._calls:  # models that reason between calls need their reasoning back
            self._assembler.extra = self._parts.value()
        return [*deltas, *self._assembler.done()]

    def _parse_lines(self, lines: list[str]) -> list[ChatDelta]:
        deltas: list[ChatDelta] = []
        for line in lines:
            if line.strip() and not self.ended:
                deltas.extend(self._line(line))
        return deltas

    def _line(self, line: str) -> list[ChatDelta]:
        try:
            chunk = json.loads(line)
        except (ValueError, RecursionError):
            chunk = None
        if not isinstance(chunk, dict):
            raise provider_error(
                self._where, "bad_response", line[:80], say="web_page" if line.lstrip().startswith("<") else ""
            )
        failure = payload_error(self._where, chunk)
        if failure is not None:
            raise failure
        message = chunk.get("message")
        deltas = self._message(message) if isinstance(message, dict) else []
        if isinstance(chunk.get("model"), str) and chunk["model"]:
            self._assembler.model = chunk["model"]
        if chunk.get("done") is True:
            self.ended = self.complete = True
            self._assembler.finish_reason = (
                FinishReason.LENGTH if chunk.get("done_reason") == "length" else FinishReason.STOP
            )
            self._assembler.usage = self._usage(chunk)
        return deltas

    def _message(self, message: dict[str, Any]) -> list[ChatDelta]:
        deltas: list[ChatDelta] = []
        if isinstance(message.get("thinking"), str):
            self._parts.text("thinking", message["thinking"])
            deltas.extend(self._assembler.reasoning(message["thinking"]))
        if isinstance(message.get("content"), str):
            deltas.extend(self._assembler.text(message["content"]))
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                id, name = call.get("id"), function.get("name")
                # each call is complete, so its own index is irrelevant
                position, self._calls = self._calls, self._calls + 1
                deltas.extend(
                    self._assembler.call(
                        position,
                        id if isinstance(id, str) else "",
                        name if isinstance(name, str) else "",
                        function.get("arguments"),
                    )
                )
        return deltas

    def _usage(self, chunk: dict[str, object]) -> Usage | None:
        """Return usage from the last line; the prompt's count is missing if it was fully cached, and then estimated."""
        prompt, reply = chunk.get("prompt_eval_count"), chunk.get("eval_count")
        if not isinstance(reply, int) or reply < 0:
            return None
        if isinstance(prompt, int) and prompt >= 0:
            return Usage(tokens_input=prompt, tokens_output=reply)
        return Usage(tokens_input=estimate_request(self._request), tokens_output=reply, estimated=True)


def _wire(message: ChatMessage) -> dict[str, object]:
    wire: dict[str, object] = {"role": message.role.value, "content": message.content}
    if message.images:
        wire["images"] = [image.data for image in message.images]
    if message.role is Role.TOOL:
        wire["tool_name"] = message.name or ""
        if message.tool_call_id:
            wire["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        wire |= {field: value for field, value in returned(message.provider_data).items() if field == "thinking"}
        wire["tool_calls"] = [
            {
                "id": call.id,
                "function": {"index": index, "name": function_name(call.name), "arguments": arguments_object(call)},
            }
            for index, call in enumerate(message.tool_calls)
        ]
    return wire


_encoded = EncodedMessages(_wire)
