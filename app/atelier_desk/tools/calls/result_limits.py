"""Limit results: 30 000 characters for the model, 1 MiB stored.

Text is cut in the middle, because beginnings say what something is and endings how it went. A line in the gap says how
much is missing and how to read the rest. Long strings inside the result are cut before the JSON around them, so that
the model still reads a complete object.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from atelier_desk.domain import limits
from atelier_desk.tools.calls.outcomes import ToolResult

_SHORTEST = 200
"""Strings are never cut below this many characters; if that does not suffice, the JSON text itself is cut."""


def as_json(data: object) -> str:
    """Return compact JSON without escaping letters; unsupported values become text."""
    return json.dumps(data, ensure_ascii=False, default=str)


def cut_middle(text: str, limit: int, hint: str) -> str:
    """Cut ``text`` to at most ``limit`` characters: its beginning, a line about the gap, its end."""
    if len(text) <= limit:
        return text
    line = "\n[… {missing} of {total} characters are missing here. {hint} …]\n"
    room = max(0, limit - len(line.format(missing=len(text), total=len(text), hint=hint)))
    head = room - room // 2
    tail = room // 2
    gap = line.format(missing=len(text) - room, total=len(text), hint=hint)
    return (text[:head] + gap + (text[-tail:] if tail else ""))[: max(limit, 0)]


def capped(result: ToolResult, hint: str, *, to_model: int = limits.RESULT_TO_MODEL) -> ToolResult:
    """Return the result with ``text`` for the model (characters) and ``data`` for the journal (UTF-8 bytes) within
    their limits.
    """
    text = as_json(result.data)
    data = result.data
    truncated = False
    # A character takes at most four bytes, so short texts need not be measured.
    if len(text) * 4 > limits.RESULT_STORED and len(text.encode()) > limits.RESULT_STORED:
        data = _shrunk(data, text, limits.RESULT_STORED // 4, hint)
        text = as_json(data)
        truncated = True
    if len(text) > to_model:
        text = _shrunk_text(data, text, to_model, hint)
        truncated = True
    return replace(result, data=data, text=text, truncated=truncated or result.truncated)


def _shrunk_text(data: object, text: str, limit: int, hint: str) -> str:
    share = _share(data, len(text), limit)
    if share is not None:
        smaller = as_json(_cut_strings(data, share, hint))
        if len(smaller) <= limit:
            return smaller
    return cut_middle(text, limit, hint)


def _shrunk(data: dict[str, object], text: str, limit: int, hint: str) -> dict[str, object]:
    share = _share(data, len(text), limit)
    if share is not None:
        smaller = _cut_strings(data, share, hint)
        if len(as_json(smaller)) <= limit:
            return dict(smaller)
    kept: dict[str, object] = {
        key: data[key]
        for key in ("success", "error", "code")
        if key in data and len(as_json(data[key])) < _SHORTEST * 5
    }
    return {**kept, "truncated": True, "text": cut_middle(text, limit - 2_000, hint)}


def _share(data: object, total: int, limit: int) -> int | None:
    """Return the maximum length of strings so that all fits (the longest shrink first), or None if strings are not the
    problem.
    """
    lengths = sorted((len(as_json(text)) for text in _strings(data) if len(text) > _SHORTEST), reverse=True)
    over = total - limit
    for count, length in enumerate(lengths, 1):
        shorter = lengths[count] if count < len(lengths) else _SHORTEST
        if sum(lengths[:count]) - count * shorter >= over:
            return max(_SHORTEST, (sum(lengths[:count]) - over) // count)
        if length <= _SHORTEST:
            return None
    return None


def _strings(data: object) -> list[str]:
    if isinstance(data, str):
        return [data]
    items = data.values() if isinstance(data, dict) else data if isinstance(data, list | tuple) else ()
    return [text for item in items for text in _strings(item)]


def _cut_strings(data: object, share: int, hint: str) -> Any:
    if isinstance(data, str):
        written = len(as_json(data))
        if written <= share:
            return data
        # Quotes and line ends take two characters in JSON: scale by this text's proportion.
        return cut_middle(data, max(_SHORTEST, int(share * len(data) / written) - 40), hint)
    if isinstance(data, dict):
        return {key: _cut_strings(value, share, hint) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_cut_strings(item, share, hint) for item in data]
    return data
