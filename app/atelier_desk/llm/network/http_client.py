"""HTTP for providers: a lazy client, streamed answers with an inactivity limit, errors with codes.

Exceptions of the HTTP library are never raised or logged from here: their frames contain the request's headers, and so
the key.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urljoin, urlsplit

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import SETTINGS_CHANGED, ProviderError
from atelier_desk.llm.encoded_message_cache import encode, encoded_object
from atelier_desk.llm.error_conversion import ErrorLocation, provider_error, response_error
from atelier_desk.llm.network.inactivity_timeout import Stalled, Watchdog
from atelier_desk.llm.network.proxy_and_certificates import (
    ProxyUse,
    Suspension,
    checked_base_url,
    make_client,
    no_answer,
    proxy_refusal,
    transport_error,
)
from atelier_desk.llm.replies.redaction import value_without_secrets
from atelier_desk.llm.secrets import redact_reply

if TYPE_CHECKING:
    import httpx

MAX_BODY = 64 * 1024 * 1024
"""Maximum bytes of an answer, streamed or not."""
MAX_ERROR_BODY = 64 * 1024
END_S = 0.02
"""Seconds that a body may take to end after its end mark, which nearly always comes with it."""
INLINE_JSON = 256 * 1024
"""Maximum bytes of JSON decoded on the event loop; more is decoded in a thread."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Inactivity limits in seconds.

    Attributes:
        connect_s: until the connection is established.
        first_s: until the first byte; a server may have to load a model or read a long prompt first.
        idle_s: between two pieces of a reply. The engine enforces a shorter, configurable limit; these two only end
            unwatched requests.
        tail_s: after the reply was complete, for usage and end mark.
        call_s: between two pieces of other answers (lists, embeddings).
    """

    connect_s: float = 10.0
    first_s: float = 3_600.0
    idle_s: float = 3_600.0
    tail_s: float = 5.0
    call_s: float = 60.0


@dataclass(frozen=True, slots=True)
class RawBody:
    """A non-JSON payload."""

    data: bytes = field(repr=False)
    media_type: str


class StreamedResponse:
    """An answer whose body is read in pieces."""

    def __init__(self, response: httpx.Response, watchdog: Watchdog, where: ErrorLocation, timeouts: Timeouts) -> None:
        self._watchdog = watchdog
        self._where = where
        self._timeouts = timeouts
        self._settled = False
        self._pieces = response.aiter_bytes()

    def settle(self) -> None:
        """Mark the reply as complete: silence, or a cut connection, then ends the body without an error."""
        if not self._settled:
            self._settled = True
            self._watchdog.set_limit(self._timeouts.tail_s)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body's pieces as they arrive.

        Raises:
            ProviderError: the body stalled (``timeout``) or was cut (``truncated``).
        """
        while True:
            failure: ProviderError | None = None
            piece = b""
            try:
                piece = await self._watchdog.run(_next(self._pieces))
            except StopAsyncIteration:
                return
            except Stalled:
                failure = no_answer(self._where, self._watchdog.limit_s, None)
            except Exception as error:
                failure = transport_error(self._where, error, answered=True)
            if failure is not None:
                if self._settled:
                    return
                raise failure
            if not self._settled:
                self._watchdog.set_limit(self._timeouts.idle_s)
            yield piece

    async def finish(self) -> None:
        """Read the end of the body too, if it is available, so that the connection can be reused.

        Closing a connection with unread bytes costs the next request a new one, with two more round trips for TLS.
        """
        try:
            async with asyncio.timeout(END_S):
                async for _ in self._pieces:
                    pass
        except TimeoutError:
            return  # the server continues or keeps the answer open: close the connection instead
        except Exception as error:
            transport_error(self._where, error, answered=True)  # re-raises our own programming errors

    async def read(self, limit: int = MAX_BODY) -> bytes:
        """Return the whole body.

        Raises:
            ProviderError: as ``chunks``, and for more than ``limit`` bytes (``bad_response``).
        """
        parts: list[bytes] = []
        size = 0
        async for piece in self.chunks():
            parts.append(piece)
            size += len(piece)
            if size > limit:
                raise provider_error(self._where, "bad_response", f"more than {limit} bytes")
        return b"".join(parts)


class _Opened:
    """Whether a new connection was opened for a request, or an existing one reused, and whether the server may have
    the request: not before its headers were written.
    """

    def __init__(self) -> None:
        self.new = False
        self.written = False

    async def note(self, name: str, _info: Mapping[str, object]) -> None:
        self.new = self.new or name == "connection.connect_tcp.started"
        self.written = self.written or name == "http11.send_request_headers.complete"


class HttpClient:
    """A connection pool to one server."""

    def __init__(
        self,
        base_url: str,
        *,
        provider: str,
        clock: Clock,
        credentials: Callable[[], Awaitable[dict[str, str]]] | None = None,
        timeouts: Timeouts | None = None,
        ca_file: str = "",
        query: Mapping[str, str] | None = None,
    ) -> None:
        """Raise UsageError if ``base_url`` is not an http or https URL, or contains a name and password.

        Args:
            credentials: returns the key and other secret headers, names in lower case, at the time of each request.
            ca_file: PEM file of additional trusted authorities.
            query: parameters of every request.
        """
        self.base_url = checked_base_url(base_url)
        self.timeouts = timeouts or Timeouts()
        self._provider = provider
        self._credentials = credentials
        self._clock = clock
        self._ca_file = ca_file
        self._query = urlencode(query or {})
        self._client: httpx.AsyncClient | None = None
        self._retired: list[httpx.AsyncClient] = []
        self._suspension = Suspension(clock)
        self._proxy: ProxyUse | None = None
        self._making = asyncio.Lock()
        self._closed = False

    def where(self, model: str, path: str = "") -> ErrorLocation:
        """Return the error location of a request to ``path``."""
        return ErrorLocation(self._provider, model, path if "://" in path else self.base_url + path)

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, payload: object = None, *, model: str = "", first_s: float | None = None
    ) -> AsyncIterator[StreamedResponse]:
        """Send a request and yield the answer before its body; leaving the block, even by cancellation, closes the
        connection.

        ``path`` is appended to the base URL, or is a whole URL of the same server. If a reused connection gives no
        byte, the request is sent once more over a new one; not a POST that the server may have, and work on for money.

        Raises:
            ProviderError: no answer, or an unsuccessful one.
        """
        where = self.where(model, path)
        client = await self._ready(where)
        async with Watchdog(self._clock, self.timeouts.first_s if first_s is None else first_s) as watchdog:
            opened = _Opened()
            try:
                response = await self._send(client, watchdog, method, payload, where, opened)
            except ProviderError as error:
                if opened.new or error.status is not None or error.code not in ("unreachable", "proxy", "timeout"):
                    raise
                client = await self._renewed(where, client)
                if opened.written and method == "POST":
                    raise
                watchdog.restart()
                response = await self._send(client, watchdog, method, payload, where, opened)
            try:
                answer = StreamedResponse(response, watchdog, where, self.timeouts)
                if not 200 <= response.status_code < 300:
                    raise await self._refusal(response, answer, where)
                yield answer
            finally:
                await response.aclose()

    async def json(self, method: str, path: str, payload: object = None, *, model: str = "") -> object:
        """Return the decoded JSON body of an answer.

        Raises:
            ProviderError: no answer, an unsuccessful one, or not JSON (``bad_response``).
        """
        async with self.stream(method, path, payload, model=model, first_s=self.timeouts.call_s) as response:
            body = await response.read()
        try:
            return await asyncio.to_thread(_decoded, body) if len(body) > INLINE_JSON else _decoded(body)
        except (ValueError, RecursionError):
            say = "web_page" if body.lstrip().startswith(b"<") else ""
        raise provider_error(self.where(model, path), "bad_response", "not JSON", say=say)

    def check_open(self) -> None:
        """Raise ProviderError (code ``settings_changed``) after ``aclose``: other settings apply by now."""
        if self._closed:
            raise provider_error(self.where(""), SETTINGS_CHANGED, "")

    async def aclose(self) -> None:
        """Close all connections. Nothing more is sent, neither another attempt nor what waits for a key."""
        self._closed = True
        client, self._client = self._client, None
        retired, self._retired = self._retired, []
        for each in (*retired, *([client] if client is not None else ())):
            await each.aclose()

    async def _renewed(self, where: ErrorLocation, client: httpx.AsyncClient) -> httpx.AsyncClient:
        """Return a new client without this one's connections, whose running answers are not affected."""
        if self._client is client:
            self._retired.append(client)
            self._client = None
        return await self._ready(where)

    async def _ready(self, where: ErrorLocation) -> httpx.AsyncClient:
        self.check_open()
        async with self._making:
            if self._suspension.passed() and self._client is not None:
                self._retired.append(self._client)
                self._client = None
            if self._client is None:  # importing the library and reading certificates would block the event loop
                connect_s = self.timeouts.connect_s
                made, self._proxy = await asyncio.to_thread(make_client, where, self.base_url, self._ca_file, connect_s)
                self._client = made
                if self._closed:
                    await self.aclose()
            self.check_open()
            return self._client

    async def _send(
        self,
        client: httpx.AsyncClient,
        watchdog: Watchdog,
        method: str,
        payload: object,
        where: ErrorLocation,
        opened: _Opened,
    ) -> httpx.Response:
        try:
            body = payload.data if isinstance(payload, RawBody) else None if payload is None else _json(payload)
        except ValueError:
            raise provider_error(where, "bad_request", "a number that is not finite") from None
        headers = {"accept": "text/event-stream, application/x-ndjson, application/json", "accept-encoding": "identity"}
        if body is not None:
            headers["content-type"] = payload.media_type if isinstance(payload, RawBody) else "application/json"
        failure: ProviderError
        try:
            if self._credentials is not None:
                headers |= await self._credentials()
            self.check_open()
            request = client.build_request(
                method, self._full_url(where.url), content=body, headers=headers, extensions={"trace": opened.note}
            )
            return await watchdog.run(client.send(request, stream=True))
        except Stalled:
            failure = no_answer(where, watchdog.limit_s, self._proxy)
        except ProviderError:
            raise
        except Exception as error:
            failure = transport_error(where, error, answered=False, proxy=self._proxy)
        finally:
            headers.clear()
        raise failure

    def _full_url(self, url: str) -> str:
        return f"{url}{'&' if '?' in url else '?'}{self._query}" if self._query else url

    async def _refusal(self, response: httpx.Response, answer: StreamedResponse, where: ErrorLocation) -> ProviderError:
        body = b""
        try:
            async for piece in answer.chunks():
                body += piece
                if len(body) > MAX_ERROR_BODY:
                    break
        except ProviderError:
            body += b""  # data before the cut is better than none
        if response.is_redirect:
            location, detail = (
                _redirected(where.url, response.headers.get("location", "")),
                f"HTTP {response.status_code}",
            )
            say = "redirect" if location else ""
            return provider_error(
                where, "bad_response", detail, say=say, status=response.status_code, location=location, charged=False
            )
        if response.status_code == 407 and self._proxy is not None:
            return proxy_refusal(where, self._proxy, response.status_code)
        return response_error(where, response.status_code, response.headers, body, self._clock.now())


def _decoded(body: bytes) -> object:
    """Return an answer without secrets: its server was sent one. What it lists is stored and shown."""
    value = json.loads(body)
    text = body.decode(json.detect_encoding(body), "surrogatepass")
    return value if redact_reply(text) == text else value_without_secrets(value)


def _json(payload: object) -> bytes:
    text = encoded_object(payload) if isinstance(payload, dict) else encode(payload)
    return text.encode("utf-8", errors="replace")


def _redirected(url: str, location: str) -> str:
    """Return the target of a redirect without possible secrets; empty if it is none."""
    try:
        target = urlsplit(urljoin(url, location))
    except ValueError:
        return ""
    shown = target._replace(netloc=target.netloc.rpartition("@")[2], query="", fragment="").geturl()
    return shown if location and shown != url else ""


async def _next(pieces: AsyncIterator[bytes]) -> bytes:
    return await anext(pieces)
