"""What the parsers of streamed answers share: events, or one JSON body from servers that do not stream, and when a reply is whole."""

from __future__ import annotations

import codecs
import json
from abc import ABC, abstractmethod
from typing import Any

from atelier_desk.domain.model_messages import ChatDelta, ChatRequest
from atelier_desk.llm.errors import ErrorLocation, provider_error
from atelier_desk.llm.replies.assembly import ReplyAssembler
from atelier_desk.llm.wire.sse import Event, EventDecoder


class EventStreamParser(ABC):
    """A ``StreamParser`` of server-sent events.

    Which of events and one body it is shows in the first character: servers send events as ``application/json`` and JSON as
    ``text/event-stream``.
    """

    def __init__(self, request: ChatRequest, where: ErrorLocation) -> None:
        self.assembler = ReplyAssembler(request, where.provider)
        self.where = where
        self.complete = False
        self.ended = False
        self._events = EventDecoder()
        self._head: bytes | None = b""
        self._body: list[bytes] | None = None

    @abstractmethod
    def event(self, event: Event) -> list[ChatDelta]:
        """Deltas of one event; sets ``complete`` and ``ended``. Raises ProviderError for an error it carries, or nonsense."""

    @abstractmethod
    def whole(self, answer: dict[str, Any]) -> list[ChatDelta]:
        """The same for an answer in one body."""

    @abstractmethod
    def extra(self) -> dict[str, Any]:
        """What the server wants back with the reply, in the form in which it is kept; empty for nothing."""

    def feed(self, data: bytes) -> list[ChatDelta]:
        """See ``StreamParser.feed``."""
        if self._head is not None:
            data = self._head + data
            first = data.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
            self._head = None if first else b""  # blanks before an answer say nothing, however many there are
            if first == b"<":
                raise provider_error(self.where, "bad_response", "HTML", say="web_page")
            if first in (b"{", b"["):
                self._body = []
            if not first:
                return []
        if self._body is not None:
            self._body.append(data)
            return []
        return self._take(self._events.feed(data))

    def close(self) -> list[ChatDelta]:
        """See ``StreamParser.close``."""
        if self._body is not None:
            deltas = self.whole(self.decode(b"".join(self._body).decode("utf-8-sig", errors="replace")))
        else:
            deltas = self._take(self._events.flush())
        if not (self.complete or self.ended):
            raise provider_error(self.where, "truncated", "no end mark")
        self.assembler.extra = self.extra()
        return [*deltas, *self.assembler.done()]

    def decode(self, data: str) -> dict[str, Any]:
        """A JSON object. Raises ProviderError (``bad_response``) for anything else."""
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise provider_error(self.where, "bad_response", data[:80])
        return value

    def _take(self, events: list[Event]) -> list[ChatDelta]:
        deltas: list[ChatDelta] = []
        for event in events:
            if self.ended:
                break
            data = event.data.strip()
            if data == "[DONE]":
                self.ended = True
            elif data:  # ``data:`` with nothing after it some gateways send to keep the connection alive
                deltas.extend(self.event(event))
        return deltas
