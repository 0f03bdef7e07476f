"""OpenAI's Responses API, and compatible servers: Azure, LM Studio, vLLM, llama.cpp and others."""

from __future__ import annotations

import re
from typing import Any

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatRequest
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.http_provider import REFUSAL_STATUSES, HttpProvider
from atelier_desk.llm.model_assumptions import profile
from atelier_desk.llm.openai_compatible import OpenAICompatibleProvider, json_schema_format
from atelier_desk.llm.openai_responses import message_conversion
from atelier_desk.llm.openai_responses.parser import ResponseParser
from atelier_desk.llm.openai_responses.request_options import reasoning, reasoning_support
from atelier_desk.llm.replies.assembly import StreamParser
from atelier_desk.llm.replies.provider_data import needs_provider_data

LEAST_TOKENS = 16
"""Minimum reply length of the API, in tokens."""
_EFFORT = re.compile(r"unsupported value[^.]*?'(none|minimal|low|medium|high)'", re.IGNORECASE)
"""'Unsupported value: 'none' is not supported with the 'gpt-5' model. Supported values are: 'minimal', 'low', 'medium',
and 'high'.'
"""


class ResponsesProvider(OpenAICompatibleProvider):
    """Chat without storage on the server: reasoning comes encrypted, and is sent back with its reply.

    Refused efforts, summaries, encrypted reasoning and other fields are omitted from then on, and so is streaming,
    which OpenAI allows for some models only to verified organisations. Addresses, model lists and vectors work as with
    chat completions.
    """

    kind = "responses"
    chat_path = "/responses"
    droppable = frozenset(
        {
            "temperature",
            "reasoning",
            "summary",
            "effort",
            "include",
            "text",
            "store",
            "prompt_cache_key",
            "stream",
            "max_output_tokens",
        }
    )

    @staticmethod
    def base_url(configured: str) -> str:
        """Like chat completions; also removes a pasted responses path."""
        return OpenAICompatibleProvider.base_url(configured.strip().rstrip("/").removesuffix("/responses"))

    def payload(self, request: ChatRequest, refused: frozenset[str]) -> dict[str, object]:
        known = reasoning_support(request.model)
        system, conversation = message_conversion.items(request.messages)
        longest = profile(self.kind, request.model).max_output or request.max_tokens
        thought = reasoning(request, known, refused)
        form = None
        if request.response_schema is not None:
            asked = json_schema_format(request.response_schema)
            form = {"format": {"type": asked["type"], **asked["json_schema"]}}
        body: dict[str, object] = {
            "model": request.model,
            "instructions": system if system.strip() else None,
            "input": conversation,
            "tools": message_conversion.tools(request) or None,
            "reasoning": thought,
            "include": ["reasoning.encrypted_content"] if known.efforts else None,
            "text": form,
            "temperature": request.temperature if known.temperature else None,
            "max_output_tokens": max(LEAST_TOKENS, min(request.max_tokens, longest)),
            "prompt_cache_key": message_conversion.cache_key(system, conversation),
            "store": False,
            "stream": True,
        }
        return {field: value for field, value in body.items() if value is not None and field not in refused}

    def refused_fields(self, payload: dict[str, Any], error: ProviderError) -> set[str]:
        """Also return single efforts, and summaries, which OpenAI gives only to verified organisations."""
        if error.status not in REFUSAL_STATUSES or needs_provider_data(error):
            return set()
        thought = payload.get("reasoning", {})
        detail, field = str(error.params.get("detail", "")), str(error.params.get("field", ""))
        effort = _EFFORT.search(detail)
        if effort is not None and effort[1] == thought.get("effort"):
            return {f"effort {effort[1]}"}
        if "summary" in thought and ("summary" in field or "summaries" in detail):
            return {"summary"}
        if "effort" in thought and (field or detail).find("reasoning.effort") >= 0:
            return {"reasoning"}
        if "include" in payload and "encrypted content is not supported" in detail.lower():
            return {"include"}
        return HttpProvider.refused_fields(self, {**payload, **thought}, error)

    def parser(self, request: ChatRequest, where: ErrorLocation) -> StreamParser:
        return ResponseParser(request, where)
