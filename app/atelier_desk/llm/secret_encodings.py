"""The forms in which a server may repeat a secret: as it is, in hexadecimal, base64 or base32, with escaped characters,
as a list of characters or numbers, reversed, in UTF-16, in other letter case, or with anything between its characters.
Pure.
"""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from urllib.parse import quote, quote_plus

_ESCAPED = re.compile(
    r"[\\%&](?:(?<=\\)(?<!\\\\)\\*(?:u00(?P<json>[0-9a-f]{2})|x(?P<c>[0-9a-f]{2})|(?P<itself>[/\"']))"
    r"|(?<=%)(?:25)*(?P<url>[0-9a-f]{2})"
    r"|(?<=&)(?:amp;)*#(?:x0*(?P<html>[0-9a-f]{2})|0*(?P<decimal>\d{2,3}));)",
    re.IGNORECASE,
)
"""One visible ASCII character, escaped in JSON, C, addresses or HTML, also more than once."""
_ESCAPES = ("\\", "%", "&")
_SEPARATORS = bytes(byte for byte in range(256) if not chr(byte).isascii() or not chr(byte).isalnum())
_URL_SAFE = str.maketrans("+/", "-_")
SUFFICIENT = 16
"""Characters of base64 that identify a secret: 96 bits."""
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")


def plain_forms(secret: str) -> frozenset[str]:
    """Return the secret, its hexadecimal forms, and as JSON and addresses write it: with spaces, other letters, or
    characters that look like an escape, it is not found by undoing escapes.
    """
    data = secret.encode("utf-8", "surrogatepass")
    escaped = {quote(data, safe=""), quote_plus(data), json.dumps(secret)[1:-1]}
    return frozenset({secret, data.hex(), data.hex().upper(), *escaped})


def base64_forms(secret: str) -> frozenset[str]:
    """Return what base64 of any text with the secret in it contains, usual or URL-safe.

    Of three bytes each, the secret may begin at any: characters that also depend on its neighbours are left out. A long
    part that is the same in both alphabets stands for both.
    """
    found: set[str] = set()
    for text in _at_each_offset(secret.encode("utf-8", "surrogatepass"), base64.b64encode, 3, 6):
        common = max(re.split(r"[+/]", text), key=len)
        found |= {common} if len(common) >= SUFFICIENT else {text, text.translate(_URL_SAFE)}
    return frozenset(found)


def compact_forms(secret: str) -> frozenset[bytes]:
    """Return what ``_compact`` leaves of the secret and its encodings, where that is long enough to identify it."""
    data = secret.encode("utf-8", "surrogatepass")
    wide = secret.encode("utf-16-le", "surrogatepass")[:-1]  # the last byte is not in the other byte order
    texts = [secret, secret[::-1], data.hex(), wide.hex()]
    texts += ["".join(map(number.format, data)) for number in ("{:d}", "0x{:02x}")]
    texts += [each for bytes_ in (data, wide) for each in _at_each_offset(bytes_, base64.b64encode, 3, 6)]
    texts += _at_each_offset(data, base64.b32encode, 5, 5)
    return frozenset(form for form in map(_compact, texts) if len(form) >= SUFFICIENT)


def _at_each_offset(data: bytes, encode: Callable[[bytes], bytes], group: int, bits: int) -> list[str]:
    """Return what an encoding of any text with ``data`` in it contains: it may begin at any byte of a ``group``.

    Args:
        bits: of each character. Those that also depend on the neighbours of ``data`` are left out.
    """
    return [
        encode(b"\0" * before + data).decode()[-(-before * 8 // bits) : (before + len(data)) * 8 // bits]
        for before in range(group)
    ]


def _compact(text: str) -> bytes:
    """Return only its ASCII letters, in lower case, and digits: separators, quotes and line breaks hide nothing."""
    return text.encode("ascii", "replace").lower().translate(None, _SEPARATORS)


def replace_secrets(
    text: str, plain: Iterable[str], in_base64: Iterable[str], compact: Collection[bytes], mark: str
) -> str:
    """Replace secrets in any of their forms with ``mark``; the longest come first."""
    if any(each in text for each in _ESCAPES):
        unescaped, places = _unescaped(text)
        if places:
            spans = [span for form in plain for span in _spans(unescaped, form)]
            spans += [span for form in in_base64 for span in _base64_spans(unescaped, form)]
            spans += _compact_spans(unescaped, compact)
            text = _without_spans(text, [(_place(places, start), _place(places, end)) for start, end in spans], mark)
    for form in plain:
        if form in text:
            text = text.replace(form, mark)
    for form in in_base64:
        if form in text:
            text = _without_spans(text, _base64_spans(text, form), mark)
    return _without_spans(text, spans, mark) if (spans := _compact_spans(text, compact)) else text


def _compact_spans(text: str, forms: Collection[bytes]) -> list[tuple[int, int]]:
    """Return where the text without separators contains one of the forms."""
    data = _compact(text)
    if len(data) < SUFFICIENT:  # as are the pieces of a reply
        return []
    found = [form for form in forms if form in data]
    if not found:
        return []
    places = [place for place, char in enumerate(text) if char.isascii() and char.isalnum()]
    letters = data.decode()
    return [(places[start], places[end - 1] + 1) for form in found for start, end in _spans(letters, form.decode())]


def _spans(text: str, form: str) -> Iterator[tuple[int, int]]:
    start = text.find(form)
    while start >= 0:
        yield start, start + len(form)
        start = text.find(form, start + len(form))


def _base64_spans(text: str, form: str) -> Iterator[tuple[int, int]]:
    """Return where the whole base64 texts are that contain ``form``: their neighbouring characters tell of it too."""
    end = 0
    while (start := text.find(form, end)) >= 0:
        first, end = start, start + len(form)
        while first > 0 and text[first - 1] in _BASE64:
            first -= 1
        while end < len(text) and text[end] in _BASE64:
            end += 1
        end += len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))
        yield first, end


def _without_spans(text: str, spans: Iterable[tuple[int, int]], mark: str) -> str:
    pieces, position = [], 0
    for start, end in sorted(spans):
        if start >= position:
            pieces += [text[position:start], mark]
        position = max(position, end)
    return "".join(pieces) + text[position:]


def _unescaped(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the text without escapes, and the places from which on its positions differ from those in ``text``: each
    as a position in the result and one in ``text`` (none if nothing is escaped).
    """
    pieces: list[str] = []
    places: list[tuple[int, int]] = []
    length = position = 0
    for found in _ESCAPED.finditer(text):
        number = found["json"] or found["c"] or found["url"] or found["html"]
        char = found["itself"] or chr(int(number, 16) if number else int(found["decimal"]))
        if not "!" <= char <= "~":
            continue
        pieces += [text[position : found.start()], char]
        length += found.start() - position + 1
        position = found.end()
        places += [(length - 1, found.start()), (length, position)]
    return "".join(pieces) + text[position:], places


def _place(places: list[tuple[int, int]], position: int) -> int:
    """Return the position in the escaped text of one in the text without escapes."""
    index = bisect_right(places, position, key=lambda each: each[0]) - 1
    if index < 0:
        return position
    here, there = places[index]
    return there + position - here
