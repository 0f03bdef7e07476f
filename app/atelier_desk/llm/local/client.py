"""Client of the built-in server: OpenAI-compatible chat completions, and raw completions.

Guided calls use raw completions: in a chat template the starter follows few-shot examples less well. All requests are
streamed: closing a stream frees the server's slot immediately.
"""

from __future__ import annotations

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.model_messages import ChatDelta, ChatRequest
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.network.retry import RetryPolicy
from atelier_desk.llm.openai_compatible import OpenAICompatibleProvider
from atelier_desk.llm.replies.assembly import StreamParser
from atelier_desk.llm.replies.chat_completion_parser import ChatCompletionParser
from atelier_desk.llm.secrets import KeyVault


class LocalChat(OpenAICompatibleProvider):
    """Chat completions of the built-in server, with the key generated at its start."""

    kind = "local"

    def __init__(self, name: str, address: str, api_key: str, clock: Clock) -> None:
        config = ProviderConfig(name=name, kind=self.kind, base_url=f"{address}/v1")
        super().__init__(config, KeyVault(environ={}), clock, retry=RetryPolicy(attempts=2))
        self._api_key = api_key

    async def _key(self) -> str | None:
        return self._api_key


class LocalCompletion(LocalChat):
    """Continues ``raw_prompt`` with ``POST /v1/completions``: no template, no messages."""

    chat_path = "/completions"

    def payload(self, request: ChatRequest, refused: frozenset[str]) -> dict[str, object]:
        """Return the body; this endpoint's ``json_schema`` corresponds to ``response_format`` of chats."""
        body = super().payload(request, refused)
        for field in ("messages", "tools", "chat_template_kwargs", "response_format"):
            body.pop(field, None)
        if request.response_schema is not None:
            body["json_schema"] = request.response_schema
        return {**body, "prompt": request.raw_prompt}

    def parser(self, request: ChatRequest, where: ErrorLocation) -> StreamParser:
        return _CompletionParser(request, where)


class _CompletionParser(ChatCompletionParser):
    """Parses completion chunks, which have ``text`` instead of ``delta.content``."""

    def _chunk(self, chunk: dict[str, object], event: str) -> list[ChatDelta]:
        choices = chunk.get("choices")
        if isinstance(choices, list):
            chunk["choices"] = [
                {**choice, "delta": {"content": choice.get("text")}} if isinstance(choice, dict) else choice
                for choice in choices
            ]
        return super()._chunk(chunk, event)
