"""Reassemble streamed reasoning in the format its server expects back. Pure."""

from __future__ import annotations

from typing import Any

_TEXTS = ("text", "summary")
"""Streamed fields of an OpenRouter detail.

Its other fields (``signature``, ``data``, ``format``, ``id``) are complete.
"""


class ReasoningParts:
    """Collects the reasoning fields of one reply.

    ``reasoning_content`` (DeepSeek, Kimi, llama.cpp), ``reasoning`` (vLLM) and ``thinking`` (Ollama) are plain text;
    ``reasoning_details`` is OpenRouter's list of typed details; ``thinking_parts`` are Mistral's content chunks.
    """

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._details: list[dict[str, object]] = []
        self._thinking: list[dict[str, Any]] = []

    def text(self, field: str, piece: object) -> None:
        if isinstance(piece, str) and piece:
            self._texts.setdefault(field, []).append(piece)

    def details(self, details: object) -> None:
        for detail in details if isinstance(details, list) else ():
            if isinstance(detail, dict):
                _add_detail(self._details, detail)

    def thinking(self, part: dict[str, object]) -> None:
        """Add a Mistral chunk: texts are concatenated, other fields taken from the newest that has them."""
        pieces = part.get("thinking")
        if (
            not self._thinking
            or not isinstance(pieces, list)
            or not isinstance(self._thinking[-1].get("thinking"), list)
        ):
            self._thinking.append({**part, "thinking": _joined([], pieces) if isinstance(pieces, list) else pieces})
            return
        last = self._thinking[-1]
        self._thinking[-1] = {**last, **part, "thinking": _joined(last["thinking"], pieces)}

    def value(self) -> dict[str, object]:
        """Return the value to send back.

        Reasoning under several names is sent once: OpenRouter's list is preferred, ``reasoning`` last.
        """
        if self._details:
            return {"reasoning_details": self._details}
        found: dict[str, object] = {field: "".join(pieces) for field, pieces in self._texts.items()}
        if len(found) > 1:
            found.pop("reasoning", None)
        return found | ({"thinking_parts": self._thinking} if self._thinking else {})


def _add_detail(details: list[dict[str, Any]], piece: dict[str, object]) -> None:
    """Add a detail, or extend the last one if it has the same type, index and id, and is text (not encrypted)."""
    last = details[-1] if details else {}
    more = any(isinstance(piece.get(field), str) for field in _TEXTS) or "signature" in piece
    same = last.get("type") == piece.get("type") and all(
        last.get(key) is None or piece.get(key) is None or last[key] == piece[key] for key in ("index", "id")
    )
    if not details or not more or not same or "data" in piece or "data" in last:
        details.append(dict(piece))
        return
    for field, value in piece.items():
        if field in _TEXTS and isinstance(value, str) and isinstance(last.get(field), str):
            last[field] += value
        elif value is not None or field not in last:
            last[field] = value


def _joined(before: list[Any], pieces: list[Any]) -> list[object]:
    out = list(before)
    for piece in pieces:
        if out and _is_text(out[-1]) and _is_text(piece):
            out[-1] = {**out[-1], "text": out[-1]["text"] + piece["text"]}
        else:
            out.append(piece)
    return out


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and set(part) == {"type", "text"} and isinstance(part["text"], str)
