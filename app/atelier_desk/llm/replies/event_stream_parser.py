"""Base of parsers for streamed answers: events, or one JSON body from servers that do not stream."""

from __future__ import annotations

import codecs
import json
from abc import ABC, abstractmethod

from atelier_desk.domain.model_messages import ChatDelta, ChatRequest
from atelier_desk.llm.error_conversion import ErrorLocation, provider_error
from atelier_desk.llm.network.sse import Event, EventDecoder
from atelier_desk.llm.replies.assembly import ReplyAssembler


class EventStreamParser(ABC):
    """A ``StreamParser`` of server-sent events.

    The first character tells events from a single body: servers send events as ``application/json`` and JSON as
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
        """Return deltas of one event.

        Set ``complete`` and ``ended``. Raises ProviderError for an error in it, or invalid data.
        """

    @abstractmethod
    def parse_body(self, answer: dict[str, object]) -> list[ChatDelta]:
        """Like ``event`` for an answer in one body."""

    @abstractmethod
    def extra(self) -> dict[str, object]:
        """Return the data the server expects back with the reply, in its stored form; empty if none."""

    def feed(self, data: bytes) -> list[ChatDelta]:
        """See ``StreamParser.feed``."""
        if self._head is not None:
            data = self._head + data
            first = data.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
            self._head = None if first else b""  # drop white space before an answer
            if first == b"<":
                raise provider_error(self.where, "bad_response", "HTML", say="web_page")
            if first in (b"{", b"["):
                self._body = []
            if not first:
                return []
        if self._body is not None:
            self._body.append(data)
            return []
        return self._parse_events(self._events.feed(data))

    def close(self) -> list[ChatDelta]:
        """See ``StreamParser.close``."""
        if self._body is not None:
            deltas = self.parse_body(self.decode(b"".join(self._body).decode("utf-8-sig", errors="replace")))
        else:
            deltas = self._parse_events(self._events.flush())
        if not (self.complete or self.ended):
            raise provider_error(self.where, "truncated", "no end mark")
        self.assembler.extra = self.extra()
        return [*deltas, *self.assembler.done()]

    def decode(self, data: str) -> dict[str, object]:
        """Parse a JSON object. Raises ProviderError (``bad_response``) for anything else."""
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise provider_error(self.where, "bad_response", data[:80])
        return value

    def _parse_events(self, events: list[Event]) -> list[ChatDelta]:
        deltas: list[ChatDelta] = []
        for event in events:
            if self.ended:
                break
            data = event.data.strip()
            if data == "[DONE]":
                self.ended = True
            elif data:  # some gateways send an empty ``data:`` to keep the connection alive
                deltas.extend(self.event(event))
        return deltas
