"""Replace lone surrogates, which files, databases and sockets cannot store."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic_core import to_json

from atelier_desk.domain.base_model import Model
from atelier_desk.support.visible_and_shortened_text import readable_name

T = TypeVar("T")


def sanitized(value: T) -> T:
    """Replace lone surrogates by U+FFFD, join split pairs, and make file names readable.

    Servers that cut their output anywhere and models that write escapes produce such text. Clean values are returned
    unchanged.
    """
    try:
        # Much faster than our own check, and hardly ever fails.
        to_json(value)
    except ValueError:
        new: T = _sanitized(value)
        return new
    return value


def _sanitized(value: object) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Model):
        changes = {name: new for name, old in value.__dict__.items() if (new := _sanitized(old)) is not old}
        return value.model_copy(update=changes) if changes else value
    if isinstance(value, dict):
        pairs = [(_sanitized(key), _sanitized(item)) for key, item in value.items()]
        same = all(
            key is old_key and item is old for (key, item), (old_key, old) in zip(pairs, value.items(), strict=True)
        )
        return value if same else dict(pairs)
    if isinstance(value, list | tuple):
        items = [_sanitized(item) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else type(value)(items)
    return value


def _text(value: str) -> str:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        text = readable_name(value).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return str(text) if type(value) is not str else text
    return value
