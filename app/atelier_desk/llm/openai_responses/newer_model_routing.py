"""A compatible provider that uses the Responses API for OpenAI's newer models."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatDelta, ChatRequest, RetryDelta, RetryDue
from atelier_desk.llm.openai_compatible import OpenAICompatibleProvider
from atelier_desk.llm.openai_responses.provider import ResponsesProvider

_BY_RESPONSES = re.compile(r"gpt-([6-9]|\d\d)")
"""OpenAI models whose tools work with reasoning only through the Responses API.

Services that resell models prefix an owner's name, and translate.
"""
_NO_PAGE = (404, 405, 501)
"""Status codes of servers without a page; 404 also means a missing model."""
ASK_AGAIN_S = 3_600.0
"""Seconds until the Responses API is tried again on a server without it, which may have been updated."""
_ABOUT_MODEL = re.compile(r"\b(models?|deployments?)\b", re.IGNORECASE)
_ABOUT_PAGE = re.compile(
    # FastAPI (vLLM, LiteLLM), llama.cpp, Go's own server (Ollama): 'Not Found', 'File Not Found', '404 page not found'
    r"^(\W|404|file|page|error)*not[ _]found\W*$"
    # Express, OpenAI and Groq, LM Studio, Kong, Azure, Amazon
    r"|\bcannot post\b|\b(url|uri|path|routes?|endpoint|page)\b|/responses\b|method not allowed|not implemented"
    r"|\bresource (was |is |could |can )?not (be )?found|unknown operation|operation not found",
    re.IGNORECASE,
)


class CompatibleProvider(OpenAICompatibleProvider):
    """Chat completions, except for those models."""

    def __init__(self, *given: Any, **options: Any) -> None:
        """See ``HttpProvider``."""
        super().__init__(*given, **options)
        self._given, self._options = given, options
        self._responses: ResponsesProvider | None = None
        self._not_before = 0.0

    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """See ``HttpProvider.stream``.

        Models that call tools only through the Responses API use it, if the server has it.
        """
        if _BY_RESPONSES.match(request.model) and self._clock.monotonic() >= self._not_before:
            return self._by_either(request)
        return super().stream(request)

    async def _by_either(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        started = False
        try:
            async with aclosing(self._by_responses().stream(request)) as deltas:
                async for delta in deltas:
                    started = started or not isinstance(delta, RetryDelta | RetryDue)
                    yield delta
            return
        except ProviderError as error:
            model, page = _about(error, request.model)
            if started or error.status not in _NO_PAGE or (model and not page):
                raise
            if page and not model:
                self._not_before = self._clock.monotonic() + ASK_AGAIN_S
        async with aclosing(super().stream(request)) as deltas:
            async for delta in deltas:
                yield delta

    def _by_responses(self) -> ResponsesProvider:
        self.http.check_open()
        if self._responses is None:
            self._responses = ResponsesProvider(*self._given, **self._options)
        return self._responses

    async def aclose(self) -> None:
        """See ``HttpProvider``."""
        await super().aclose()
        if self._responses is not None:
            await self._responses.aclose()


def _about(error: ProviderError, model: str) -> tuple[bool, bool]:
    """Whether an answer with a status of ``_NO_PAGE`` is about the model, and whether about the page.

    If about neither or both, chat completions will show the problem, and nothing is remembered.
    """
    detail = str(error.params.get("detail", ""))
    path = urlsplit(str(error.params.get("url", ""))).path
    rest = detail.replace(path, "") if path else detail
    return _ABOUT_MODEL.search(rest) is not None or model in rest, error.status != 404 or _ABOUT_PAGE.search(
        detail
    ) is not None
