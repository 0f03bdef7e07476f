"""A provider of the compatible kind that asks OpenAI's newer models by the Responses API."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from atelier_desk.domain.chat import ChatDelta, ChatRequest
from atelier_desk.domain.errors import ProviderError
from atelier_desk.llm.openai_compatible import OpenAICompatibleProvider
from atelier_desk.llm.responses.provider import ResponsesProvider

_BY_RESPONSES = re.compile(r"gpt-([6-9]|\d\d)")
"""OpenAI's models whose tools work with reasoning by the Responses API alone. A service that sells others' models names an owner before the
model, and translates."""
_NO_PAGE = (404, 405, 501)
"""What servers answer that do not have a page."""


class CompatibleProvider(OpenAICompatibleProvider):
    """Chat completions, but for those models."""

    def __init__(self, *given: Any, **options: Any) -> None:
        """See ``HttpProvider``."""
        super().__init__(*given, **options)
        self._given, self._options = given, options
        self._responses: ResponsesProvider | None = None
        self._has_responses = True

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """See ``HttpProvider.stream``. Models that call tools by the Responses API alone are asked there, where the server has it."""
        if self._has_responses and _BY_RESPONSES.match(request.model):
            begun = False
            try:
                async with aclosing(self._by_responses().stream(request)) as deltas:
                    async for delta in deltas:
                        begun = True
                        yield delta
                return
            except ProviderError as error:
                if begun or error.status not in _NO_PAGE:
                    raise
                self._has_responses = False
        async with aclosing(super().stream(request)) as deltas:
            async for delta in deltas:
                yield delta

    def _by_responses(self) -> ResponsesProvider:
        if self._responses is None:
            self._responses = ResponsesProvider(*self._given, **self._options)
        return self._responses

    async def aclose(self) -> None:
        """See ``HttpProvider``."""
        await super().aclose()
        if self._responses is not None:
            await self._responses.aclose()
