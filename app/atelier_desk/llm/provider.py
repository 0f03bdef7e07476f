"""What the three HTTP providers share: attempts, retries, fields a server refused, health."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, ClassVar

from atelier_desk.domain.chat import ChatDelta, ChatRequest
from atelier_desk.domain.clock import Clock, SystemClock
from atelier_desk.domain.errors import AtelierError, ProviderError
from atelier_desk.domain.provider import ModelInfo, ProviderConfig, ProviderHealth, ProviderKind
from atelier_desk.i18n import _
from atelier_desk.llm.assembly import StreamParser
from atelier_desk.llm.errors import Where, provider_error
from atelier_desk.llm.http import MAX_BODY, HttpClient, Timeouts
from atelier_desk.llm.profiles import merge_profile
from atelier_desk.llm.retry import RetryPolicy, call_with_retries, stream_with_retries
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.llm.sse import LineTooLongError

REFUSAL_STATUSES = (400, 422)
_REFUSAL_WORDS = (
    "unsupported",
    "not support",
    "unrecognized",
    "unknown",
    "unexpected",
    "extra",
    "not permitted",
    "not allowed",
    "not available",
)


class HttpProvider(ABC):
    """A chat provider over HTTP.

    Attributes:
        name: the provider's configured name.
        chat_path: where chat requests go, after the base URL.
        droppable: request fields that may be left out when the server refuses them; what was refused is remembered per model.
    """

    kind: ClassVar[ProviderKind]
    chat_path: ClassVar[str]
    droppable: ClassVar[frozenset[str]] = frozenset()

    def __init__(
        self,
        config: ProviderConfig,
        vault: KeyVault,
        clock: Clock | None = None,
        *,
        retry: RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        rng: Callable[[], float] = random.random,
    ) -> None:
        """Raises UsageError when the base URL cannot be one."""
        self.name = config.name
        self.config = config
        self.retry = retry or RetryPolicy()
        self._vault = vault
        self._clock = clock or SystemClock()
        self._rng = rng
        self._refused: dict[str, set[str]] = {}
        url = self.base_url(config.base_url)
        self.http = HttpClient(url, provider=config.name, key=self._key, clock=self._clock, timeouts=timeouts)

    @staticmethod
    @abstractmethod
    def base_url(configured: str) -> str:
        """The URL that paths are added to; an empty one means the kind's usual server."""

    @abstractmethod
    def payload(self, request: ChatRequest, refused: frozenset[str]) -> dict[str, Any]:
        """The request's JSON body, without the fields this model refused before."""

    @abstractmethod
    def parser(self, request: ChatRequest, content_type: str) -> StreamParser:
        """A parser for one answer of this media type."""

    @abstractmethod
    async def read_models(self, get: Callable[[str, str], Awaitable[Any]]) -> list[ModelInfo]:
        """The models the server offers, fetched with ``get(method, path)``."""

    async def list_models(self) -> list[ModelInfo]:
        """See ``atelier_desk.llm.base.Provider.list_models``."""
        return await self.read_models(self.json)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """See ``atelier_desk.llm.base.ChatModel.stream``."""
        attempts = stream_with_retries(lambda: self._attempt(request), clock=self._clock, policy=self.retry, rng=self._rng)
        async with aclosing(attempts) as deltas:
            async for delta in deltas:
                yield delta

    async def model_info(self, model: str) -> ModelInfo:
        """What the model list says of one model; a model that is not listed gets what the profile table knows."""
        models = await self.list_models()
        return next((info for info in models if info.name == model), merge_profile(self.kind, ModelInfo(provider=self.name, name=model)))

    async def test(self) -> ProviderHealth:
        """Reach the server and count its models: once, because a person waits. The key is read anew from the keyring."""
        self._vault.forget_cached(self.name)
        start = self._clock.monotonic()
        try:
            models = await self.read_models(self.http.json)
        except AtelierError as error:
            return ProviderHealth(ok=False, latency_ms=self._since(start), message=error.localized(_), code=error.code)
        return ProviderHealth(ok=True, latency_ms=self._since(start), models=len(models), message=_("Connected."))

    async def aclose(self) -> None:
        """Close connections."""
        await self.http.aclose()

    async def json(self, method: str, path: str, payload: Any = None, *, model: str = "") -> Any:
        """A call that gives its answer at once, with retries."""
        return await call_with_retries(
            lambda: self.http.json(method, path, payload, model=model), clock=self._clock, policy=self.retry, rng=self._rng
        )

    async def optional_json(self, method: str, path: str, payload: Any = None) -> dict[str, Any]:
        """The object a page that not every server has answers with, empty when this one does not."""
        try:
            answer = await self.http.json(method, path, payload)
        except ProviderError as error:
            if error.code in ("unreachable", "timeout"):
                raise
            return {}
        return answer if isinstance(answer, dict) else {}

    def items(self, answer: Any, key: str) -> list[dict[str, Any]]:
        """The objects of a list in an answer.

        Raises:
            ProviderError: the answer has no such list (``bad_response``).
        """
        items = answer.get(key) if isinstance(answer, dict) else None
        if not isinstance(items, list):
            raise provider_error(Where(self.name), "bad_response", f"no list {key}")
        return [item for item in items if isinstance(item, dict)]

    async def _attempt(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """One attempt; repeated at once, without a field, when the server refuses that field and nothing was shown yet."""
        while True:
            refused = self._refused.setdefault(request.model, set())
            payload = self.payload(request, frozenset(refused))
            shown = False
            try:
                async with aclosing(self._exchange(request, payload)) as deltas:
                    async for delta in deltas:
                        shown = True
                        yield delta
                return
            except ProviderError as error:
                fields = set() if shown else self.refused_fields(payload, error) - refused
                if not fields:
                    raise
                refused |= fields

    async def _exchange(self, request: ChatRequest, payload: dict[str, Any]) -> AsyncGenerator[ChatDelta, None]:
        where = Where(self.name, request.model)
        async with self.http.stream("POST", self.chat_path, payload, model=request.model) as response:
            parser = self.parser(request, response.content_type)
            size = 0
            async with aclosing(response.chunks()) as chunks:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > MAX_BODY:
                        raise provider_error(where, "bad_response", f"more than {MAX_BODY} bytes")
                    try:
                        deltas = parser.feed(chunk)
                    except LineTooLongError:
                        raise provider_error(where, "bad_response", "a line without end") from None
                    for delta in deltas:
                        yield delta
                    if parser.ended:
                        break
                    if parser.complete:
                        response.settle()
            if parser.ended:
                await response.finish()
        for delta in parser.close():
            yield delta

    def refused_fields(self, payload: dict[str, Any], error: ProviderError) -> set[str]:
        """The droppable fields of the request that an error complains about."""
        if error.status not in REFUSAL_STATUSES or error.code != "bad_request":
            return set()
        detail = str(error.params.get("detail", "")).lower()
        named = str(error.params.get("field", ""))
        words = any(word in detail for word in _REFUSAL_WORDS)
        return {
            field
            for field in self.droppable
            if field in payload and (field == named.partition(".")[0] or (field in detail and (words or field == "stream_options")))
        }

    async def _key(self) -> str | None:
        return await self._vault.key_for(self.config)

    def _since(self, start: float) -> int:
        return round((self._clock.monotonic() - start) * 1000)
