"""Text that can be kept: half characters, which neither a file, a database nor a socket can hold, are replaced."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic_core import to_json

from atelier_desk.domain.base import Model
from atelier_desk.support.text import readable_name

T = TypeVar("T")


def mended(value: T) -> T:
    """The value with every lone half of a surrogate pair replaced by U+FFFD, halves that met again joined, and file names readable.

    Servers that cut their output anywhere and models that spell escapes give such text. A value without any is returned as it is.
    """
    try:
        # Looks at everything several times faster than we can, and hardly ever finds anything.
        to_json(value)
    except ValueError:
        new: T = _mended(value)
        return new
    return value


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Model):
        changes = {name: new for name, old in value.__dict__.items() if (new := _mended(old)) is not old}
        return value.model_copy(update=changes) if changes else value
    if isinstance(value, dict):
        pairs = [(_mended(key), _mended(item)) for key, item in value.items()]
        same = all(key is old_key and item is old for (key, item), (old_key, old) in zip(pairs, value.items(), strict=True))
        return value if same else dict(pairs)
    if isinstance(value, list | tuple):
        items = [_mended(item) for item in value]
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
