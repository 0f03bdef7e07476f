"""Messages in a server's format with their JSON text, kept as long as the messages themselves.

A long conversation is sent whole with every request, and nearly all of it is the same objects each time.
"""

from __future__ import annotations

import itertools
import json
import weakref
from collections.abc import Callable, Iterable
from json.encoder import encode_basestring
from typing import Any, ClassVar

from atelier_desk.domain.model_messages import ChatMessage

MOST_BYTES = 32 * 1024 * 1024
"""Maximum bytes of kept messages, of all formats together. More are converted and encoded each time."""
OVERHEAD = 600
"""Bytes of a kept message besides its texts, about."""

encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
"""Return a value as JSON text, which may have lone surrogates. Raises ValueError for a number that is not finite."""


class _Source(weakref.ref[ChatMessage]):
    """The message that was encoded; ``key`` is its id."""

    __slots__ = ("key",)

    key: int


class EncodedMessage(dict[str, Any]):
    """A message in a server's format.

    It is shared by requests: what differs in one of them is put into a new dictionary.

    Attributes:
        text: the same as JSON.
        source: the message.
    """

    __slots__ = ("source", "text")

    text: str
    source: _Source

    @property
    def size(self) -> int:
        """Bytes, about: the values and their text."""
        return 2 * len(self.text) + OVERHEAD


class EncodedMessages:
    """Messages in the format that ``convert`` gives them, which depends on nothing but the message."""

    _bytes: ClassVar[int] = 0

    def __init__(self, convert: Callable[[ChatMessage], dict[str, object]]) -> None:
        self._convert = convert
        self._cached: dict[int, EncodedMessage] = {}
        self._callback = self._discard

    def all(self, messages: Iterable[ChatMessage]) -> list[dict[str, object]]:
        """Return the messages converted; kept ones are ``EncodedMessage``."""
        kept = self._cached
        return [kept.get(id(message)) or self._new(message) for message in messages]

    def one(self, message: ChatMessage) -> dict[str, object]:
        """Return a message converted; a kept one is an ``EncodedMessage``."""
        return self._cached.get(id(message)) or self._new(message)

    def _new(self, message: ChatMessage) -> dict[str, object]:
        converted = self._convert(message)
        if message.images:
            return converted  # large, and loaded anew for each request
        encoded = EncodedMessage(converted)
        try:
            encoded.text = _object(converted)
        except (ValueError, RecursionError):
            return converted  # sending it says what is wrong
        size = encoded.size
        if EncodedMessages._bytes + size <= MOST_BYTES:
            encoded.source = source = _Source(message, self._callback)
            source.key = id(message)
            self._cached[source.key] = encoded
            EncodedMessages._bytes += size
        return encoded

    def _discard(self, source: weakref.ref[ChatMessage]) -> None:
        assert isinstance(source, _Source)
        EncodedMessages._bytes -= self._cached.pop(source.key).size


def encoded_object(fields: dict[str, object]) -> str:
    """Return an object as JSON text, exactly as ``encode`` does; lists of ``EncodedMessage`` are not encoded again."""
    return f"{{{', '.join([f'{encode(name)}: {_value(value)}' for name, value in fields.items()])}}}"


def _object(fields: dict[str, Any]) -> str:
    try:  # an encoder for each short message would take three times as long
        texts = [f"{encode_basestring(name)}: {encode_basestring(value)}" for name, value in fields.items()]
    except TypeError:  # not only texts
        return encode(fields)
    return f"{{{', '.join(texts)}}}"


def _value(value: object) -> str:
    if not isinstance(value, list) or EncodedMessage not in map(type, value):
        return encode(value)
    parts: list[str] = []
    for kind, items in itertools.groupby(value, type):
        if kind is EncodedMessage:
            parts += [item.text for item in items]
        else:
            parts.append(encode(list(items))[1:-1])
    return f"[{', '.join(parts)}]"
