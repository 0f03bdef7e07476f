"""Base of HTTP providers: attempts, retries, refused fields, health."""

from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from atelier_desk.domain.clock import Clock, SystemClock
from atelier_desk.domain.errors import AtelierError, ProviderError
from atelier_desk.domain.model_messages import ChatDelta, ChatRequest
from atelier_desk.domain.provider import (
    KeyStyle,
    ModelInfo,
    ProviderConfig,
    ProviderHealth,
    ProviderKind,
    problem_fields,
)
from atelier_desk.llm.error_conversion import ErrorLocation, provider_error
from atelier_desk.llm.key_prefixes import refuse_another_maker
from atelier_desk.llm.model_assumptions import merge_profile
from atelier_desk.llm.network.address_correction import (
    EndpointAddress,
    answers_chat,
    doubtful,
    find_address,
    is_azure,
)
from atelier_desk.llm.network.http_client import MAX_BODY, HttpClient, Timeouts
from atelier_desk.llm.network.retry import RetryPolicy, call_with_retries, stream_with_retries
from atelier_desk.llm.network.sse import LineTooLongError
from atelier_desk.llm.provider_type_registry import is_own
from atelier_desk.llm.replies.assembly import StreamParser
from atelier_desk.llm.replies.provider_data import for_server, needs_provider_data
from atelier_desk.llm.replies.redaction import without_secrets
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.support.i18n import _

T = TypeVar("T")

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
    "unavailable",
    "deprecated",
)


def named_in(field: str, text: str) -> bool:
    """Whether a text names a field, ``think`` also as "thinking"; ``reasoning_effort`` does not name ``reasoning``."""
    return re.search(rf"(?<![a-z_]){re.escape(field)}(?!_)", text) is not None


def counted_tokens(answer: object, *names: str) -> int | None:
    """A number of tokens that stands in an answer; None when none does. 0 is no count: it would make requests free."""
    for name in names:
        answer = answer.get(name) if isinstance(answer, dict) else None
    return answer if isinstance(answer, int) and not isinstance(answer, bool) and 0 < answer < 1e9 else None


class HttpProvider(ABC):
    """A chat provider over HTTP.

    Attributes:
        name: the provider's configured name.
        chat_path: path of chat requests after the base URL; ``chat_page`` returns that of a model.
        droppable: request fields that may be omitted if the server refuses them; remembered per model.
        headers: default headers, names in lower case; the user's own take precedence.
    """

    kind: ClassVar[ProviderKind]
    chat_path: ClassVar[str]
    droppable: ClassVar[frozenset[str]] = frozenset()
    headers: ClassVar[Mapping[str, str]] = {}
    grammar: bool = False

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
        """Raise UsageError if the base URL is invalid."""
        self.name = config.name
        self.config = config
        self.retry = retry or RetryPolicy()
        self._vault = vault
        self._clock = clock or SystemClock()
        self._rng = rng
        self._refused: dict[str, set[str]] = {}
        url = self.base_url(config.base_url)
        self.http = self.client(url, timeouts or Timeouts())

    @staticmethod
    @abstractmethod
    def base_url(configured: str) -> str:
        """Return the URL to which paths are appended; an empty one means the kind's default server."""

    @abstractmethod
    def payload(self, request: ChatRequest, refused: frozenset[str]) -> dict[str, object]:
        """Return the request's JSON body without fields this model has refused."""

    @abstractmethod
    def parser(self, request: ChatRequest, where: ErrorLocation) -> StreamParser:
        """Return a parser for one answer; ``where`` is what its errors are about."""

    @abstractmethod
    async def read_models(self, get: Callable[[str, str], Awaitable[object]]) -> list[ModelInfo]:
        """Read the server's models with ``get(method, path)``."""

    def chat_page(self, model: str) -> str:
        """Return the path of chat requests for a model, after the base URL."""
        return self.chat_path

    def client(self, url: str, timeouts: Timeouts, *, secrets: bool = True) -> HttpClient:
        """Return a client for an address with the provider's configuration.

        Without ``secrets`` it sends nothing confidential.
        """
        return HttpClient(
            url,
            provider=self.name,
            clock=self._clock,
            credentials=self._credentials if secrets else None,
            timeouts=timeouts,
            ca_file=self.config.ca_file,
            query={"api-version": self.config.api_version} if self.config.api_version else None,
        )

    async def list_models(self) -> list[ModelInfo]:
        """See ``atelier_desk.llm.interfaces.Provider.list_models``."""
        try:
            return await self.read_models(self.json)
        except ProviderError as error:
            if doubtful(error) and error.status is not None:
                return []  # many servers lack this page; a wrong address shows in a test or at the first request
            raise

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """See ``atelier_desk.llm.interfaces.ChatModel.stream``."""
        policy = self.retry if request.retry else replace(self.retry, attempts=1)
        attempts = stream_with_retries(lambda: self._attempt(request), clock=self._clock, policy=policy, rng=self._rng)
        async with aclosing(without_secrets(attempts)) as deltas:
            async for delta in deltas:
                yield delta

    async def model_info(self, model: str) -> ModelInfo:
        """Return a model's information from the model list; unlisted models get the profile's assumptions."""
        models = await self.list_models()
        unlisted = merge_profile(self.kind, ModelInfo(provider=self.name, name=model), own=is_own(self.config))
        return next((info for info in models if info.name == model), unlisted)

    async def test(self, *, load: bool = True) -> ProviderHealth:
        """Connect to the server and count its models, once, because a person waits. The key is read again from the
        keyring.

        A server without a model list is healthy if it has the chat page. If the address looks wrong, others on the same
        host are tried for a few seconds each, and the one that answers is named.
        """
        self._vault.invalidate(self.name)
        start = self._clock.monotonic()
        try:
            models = await self.read_models(self.http.json)
        except AtelierError as error:
            health = ProviderHealth.failed(error, latency_ms=self._since(start))
            return (
                await self._explain_missing_list(health)
                if isinstance(error, ProviderError) and doubtful(error)
                else health
            )
        return ProviderHealth(ok=True, latency_ms=self._since(start), models=len(models), message=_("Connected."))

    async def _explain_missing_list(self, health: ProviderHealth) -> ProviderHealth:
        """Return the health when the model list was not found at the expected address."""
        tried = EndpointAddress(self.kind, self.http.base_url)
        try:
            if health.code != "unreachable" and await answers_chat(self.client, tried, self.chat_page("model")):
                note = _("This server does not list its models; enter the model name.")
                return health.model_copy(update={"ok": True, "message": note, "code": ""})
        except ProviderError as error:
            return health.model_copy(update=problem_fields(error))
        found = await find_address(self.client, tried)
        if found is None:
            return health
        hint = _("There is a model server at {url}: use that address.", url=found.url)
        if found.kind != self.kind:
            hint = _("There is a model server of a different kind at {url} ({kind}).", kind=found.kind, url=found.url)
        update = {"message": f"{health.message} {hint}", "found_url": found.url, "found_kind": found.kind}
        return health.model_copy(update=update)

    async def aclose(self) -> None:
        """Close connections."""
        await self.http.aclose()

    async def json(self, method: str, path: str, payload: object = None, *, model: str = "") -> object:
        """Make a non-streaming request, with retries."""
        return await self.with_retries(lambda: self.http.json(method, path, payload, model=model))

    async def with_retries(self, call: Callable[[], Awaitable[T]]) -> T:
        """Return what ``call`` does at last, within the attempts of ``retry``."""
        return await call_with_retries(call, clock=self._clock, policy=self.retry, rng=self._rng)

    async def optional_json(self, path: str) -> dict[str, object]:
        """Return the object of a page that not every server has, empty if missing."""
        try:
            answer = await self.http.json("GET", path)
        except ProviderError as error:
            if error.code in ("unreachable", "timeout"):
                raise
            return {}
        return answer if isinstance(answer, dict) else {}

    async def embeddings(self, payload: dict[str, object], model: str) -> tuple[object, int | None]:
        """Vectors for the texts of ``payload["input"]``, in their order, as the server has them (anything else when it
        gave none), and the tokens that it counted. One request: retries are the caller's.

        Raises:
            ProviderError: the server cannot be reached or has no such page.
        """
        answer = await self.http.json("POST", "/embeddings", payload, model=model)
        items = self.items(answer, "data")
        items.sort(key=lambda item: item["index"] if isinstance(item.get("index"), int) else 0)
        return [item.get("embedding") for item in items], counted_tokens(answer, "usage", "prompt_tokens")

    def items(self, answer: object, key: str, name: str = "") -> list[dict[str, Any]]:
        """Return the objects of a list in an answer, or of a bare list (Together's models).

        With ``name``, text items become objects with only that name.

        Raises:
            ProviderError: the answer has no such list (``bad_response``).
        """
        items = answer.get(key) if isinstance(answer, dict) else answer
        if items is None and isinstance(answer, dict) and key in answer:
            items = []  # null for an empty list, from some servers written in Go
        if not isinstance(items, list):
            raise provider_error(self.http.where(""), "bad_response", f"no list {key}")
        named = [{name: item} if name and isinstance(item, str) else item for item in items]
        return [item for item in named if isinstance(item, dict)]

    async def _attempt(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """Make one attempt; repeat it without a field that the server refuses, as long as nothing was shown.

        A server that misses data it once sent, or no longer accepts it, is asked again with other models' calls as
        text, and finally its own too.
        """
        told = 0
        while True:
            refused = self._refused.setdefault(request.model, set())
            own = for_server(request, self.name, signed_only=told > 0, none=told > 1)
            payload = self.payload(own, frozenset(refused))
            shown = False
            try:
                async with aclosing(self._exchange(request, payload)) as deltas:
                    async for delta in deltas:
                        shown = True
                        yield delta
                return
            except ProviderError as error:
                fields = set() if shown else self.refused_fields(payload, error) - refused
                if not shown and told < 2 and needs_provider_data(error):
                    told += 1
                elif not fields:
                    raise
                refused |= fields

    async def _exchange(self, request: ChatRequest, payload: dict[str, object]) -> AsyncGenerator[ChatDelta, None]:
        page = self.chat_page(request.model)
        where = self.http.where(request.model, page)
        async with self.http.stream("POST", page, payload, model=request.model) as response:
            parser = self.parser(request, where)
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

    def refused_fields(self, payload: dict[str, object], error: ProviderError) -> set[str]:
        """Return the droppable request fields that an error complains about."""
        if error.status not in REFUSAL_STATUSES or error.code != "bad_request":
            return set()
        detail = str(error.params.get("detail", "")).lower()
        named = str(error.params.get("field", ""))
        words = any(word in detail for word in _REFUSAL_WORDS)
        return {
            field
            for field in self.droppable
            if field in payload
            and (field == named.partition(".")[0] or (named_in(field, detail) and (words or field == "stream_options")))
        }

    def usual_key_style(self) -> KeyStyle:
        """Return the default header for the key."""
        return KeyStyle.API_KEY if is_azure(self.http.base_url) else KeyStyle.BEARER

    async def _key(self) -> str | None:
        return await self._vault.key_for(self.config)

    async def _credentials(self) -> dict[str, str]:
        """Return the key header and the user's own headers, which take precedence."""
        headers = {**self.headers, **await self._vault.headers_for(self.config)}
        try:
            key = await self._key()
            refuse_another_maker(key or "", self.http.base_url, self.name)
        except ProviderError:
            headers.clear()
            raise
        if not key:
            return headers
        style = self.usual_key_style() if self.config.key_style is KeyStyle.AUTO else self.config.key_style
        named = {"authorization": f"Bearer {key}"} if style is KeyStyle.BEARER else {style.value: key}
        return {**named, **headers}

    def _since(self, start: float) -> int:
        return round((self._clock.monotonic() - start) * 1000)
