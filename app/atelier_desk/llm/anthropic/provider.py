"""Anthropic's own API, and compatible servers."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatRequest
from atelier_desk.domain.provider import KeyStyle, ModelInfo
from atelier_desk.llm.anthropic import message_conversion
from atelier_desk.llm.anthropic.parser import MessageParser
from atelier_desk.llm.anthropic.request_options import (
    ADAPTIVE,
    DISABLED,
    ENABLED,
    Takes,
    is_on,
    thinking,
    thinking_support,
    with_capabilities,
)
from atelier_desk.llm.anthropic.structured_output_schema import closed
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.http_provider import REFUSAL_STATUSES, HttpProvider
from atelier_desk.llm.model_assumptions import merge_profile, profile
from atelier_desk.llm.network.proxy_and_certificates import checked_base_url
from atelier_desk.llm.provider_type_registry import is_own
from atelier_desk.llm.replies.assembly import StreamParser
from atelier_desk.llm.replies.provider_data import needs_provider_data
from atelier_desk.llm.replies.typed_json_fields import flag, object_of, positive

DEFAULT_URL = "https://api.anthropic.com/v1"
VERSION = "2023-06-01"
"""API version.

The version of 2026-10-21 differs here only in refusing every ``temperature``, which models up to Claude 4.6 accept;
other servers know only the older one.
"""
HOTTEST = 1.0
"""Maximum temperature of the API."""
MOST_PAGES, PAGE = 20, 1000
"""Maximum pages of models, and models per page."""
_VERSION_PATH = re.compile(r"/v\d+$")
_TOO_LONG = re.compile(r"max_tokens: \d+ > (\d+)")
"""'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5'"""


class AnthropicProvider(HttpProvider):
    """Chat with Claude.

    A model that refuses the kind of reasoning suggested by its name is asked again with the other kind, then without;
    one that states its maximum reply length is never asked for more. Both are remembered.
    """

    kind = "anthropic"
    chat_path = "/messages"
    headers = {"anthropic-version": VERSION}
    droppable = frozenset(
        {
            "temperature",
            "stop_sequences",
            "effort",
            "format",
            "display",
            "cache_control",
            "thinking",
            ADAPTIVE,
            ENABLED,
            DISABLED,
        }
    )

    def __init__(self, *given: Any, **options: Any) -> None:
        """See ``HttpProvider``."""
        super().__init__(*given, **options)
        self._longest: dict[str, int] = {}
        self._thinking_support: dict[str, Takes] = {}

    @staticmethod
    def base_url(configured: str) -> str:
        """Add ``/v1`` if missing, as the official clients do, and remove a pasted messages path."""
        url = checked_base_url(configured or DEFAULT_URL).removesuffix("/messages").rstrip("/")
        return url if _VERSION_PATH.search(urlsplit(url).path) else f"{url}/v1"

    def usual_key_style(self) -> KeyStyle:
        return KeyStyle.X_API_KEY

    def payload(self, request: ChatRequest, refused: frozenset[str]) -> dict[str, object]:
        known = self._thinking_support.get(request.model) or thinking_support(request.model)
        system, conversation = message_conversion.turns(request.messages)
        longest = self._longest.get(request.model) or profile(self.kind, request.model).max_output or request.max_tokens
        max_tokens = min(request.max_tokens, longest)
        thought = thinking(request, known, refused, max_tokens, begun=message_conversion.thinks(conversation))
        on = is_on(thought, known, refused)
        body: dict[str, object] = {
            "model": request.model,
            "max_tokens": max_tokens,
            "system": [{"type": "text", "text": system}] if system.strip() else None,
            "messages": conversation if on else message_conversion.without_thoughts(conversation),
            **message_conversion.tools(request, conversation),
            "thinking": thought,
            "output_config": _output(request, known, refused) or None,
            "temperature": request.temperature_up_to(HOTTEST) if known.temperature and not on else None,
            "stop_sequences": [text for text in request.stop if text.strip()] or None,
            "stream": True,
        }
        body = {field: value for field, value in body.items() if value is not None and field not in refused}
        if "cache_control" not in refused:
            message_conversion.mark(body)
        return body

    def refused_fields(self, payload: dict[str, Any], error: ProviderError) -> set[str]:
        """Also return the kind of reasoning, parts of ``output_config`` and cache marks by name, and ``max_tokens``
        with its maximum.
        """
        if error.status not in REFUSAL_STATUSES or needs_provider_data(error):
            return set()
        most = _TOO_LONG.search(str(error.params.get("detail", "")))
        if most is not None and payload["max_tokens"] > int(most[1]) > 0:
            self._longest[payload["model"]] = int(most[1])
            return {f"max_tokens {most[1]}"}
        thought = payload.get("thinking", {})
        kind = thought.get("type", "")
        named = super().refused_fields(
            {**payload, **payload.get("output_config", {}), **thought, kind: None, "cache_control": None}, error
        )
        if "display" in named:
            return {"display"}
        if named & {kind, "thinking"}:  # then other fields are only mentioned as advice
            return {kind}
        return named

    def parser(self, request: ChatRequest, where: ErrorLocation) -> StreamParser:
        return MessageParser(request, where)

    async def read_models(self, get: Callable[[str, str], Awaitable[Any]]) -> list[ModelInfo]:
        """Read all pages of ``GET /models``."""
        found: dict[str, ModelInfo] = {}
        after = ""
        for _page in range(MOST_PAGES):
            query = urlencode({"limit": PAGE, **({"after_id": after} if after else {})})
            answer = await get("GET", f"/models?{query}")
            items = [
                item for item in self.items(answer, "data", "id") if isinstance(item.get("id"), str) and item["id"]
            ]
            fresh = [item for item in items if item["id"] not in found]
            found |= {item["id"]: self._info(item) for item in fresh if item.get("lifecycle") != "retired"}
            more = isinstance(answer, dict) and answer.get("has_more") is True
            if not (fresh and more and isinstance(answer.get("last_id"), str) and answer["last_id"]):
                break
            after = answer["last_id"]
        return [merge_profile(self.kind, info, own=is_own(self.config)) for info in found.values()]

    def _info(self, item: dict[str, Any]) -> ModelInfo:
        name, label = item["id"], item.get("display_name")
        capabilities = object_of(item, "capabilities")
        self._thinking_support[name] = with_capabilities(thinking_support(name), capabilities)
        window, longest = (positive(item.get(field)) for field in ("max_input_tokens", "max_tokens"))
        if longest:
            self._longest[name] = longest
        return ModelInfo(
            provider=self.name,
            name=name,
            label=label if isinstance(label, str) and label != name else "",
            context_window=window,
            max_output_tokens=longest,
            supports_vision=_flag(capabilities, "image_input"),
            supports_thinking=_flag(capabilities, "thinking"),
            source="server" if window else "assumed",
        )


def _output(request: ChatRequest, known: Takes, refused: frozenset[str]) -> dict[str, object]:
    """Return ``output_config``: effort, and the format of the answer."""
    config: dict[str, object] = {}
    if request.effort is not None and request.enable_thinking and known.effort:
        config["effort"] = request.effort
    if request.response_schema is not None:
        config["format"] = {"type": "json_schema", "schema": closed(request.response_schema)}
    return {field: value for field, value in config.items() if field not in refused}


def _flag(capabilities: dict[str, object], name: str) -> bool | None:
    return flag(object_of(capabilities, name).get("supported"))
