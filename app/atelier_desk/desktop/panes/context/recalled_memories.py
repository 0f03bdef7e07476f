"""Memories given to the model by a request, and why: parsed from the memory tool's results in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atelier_desk.desktop.panes.time_format import number
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.domain.model_messages import ChatMessage
    from atelier_desk.engine.services.request.sent_request_data import SentRequest

_PARTS = (
    ("score", N_("score")),
    ("relevance", N_("relevance")),
    ("lexical", N_("words")),
    ("cosine", N_("meaning")),
    ("certainty", N_("certainty")),
    ("importance", N_("importance")),
    ("recency", N_("recency")),
)


@dataclass(frozen=True, slots=True)
class GivenMemory:
    """A memory as given to the model.

    ``asked`` is the search query, empty if it was listed or read; ``parts`` are the components of its score by name.
    """

    id: str
    content: str
    asked: str
    parts: tuple[tuple[str, float], ...] = ()

    @property
    def why(self) -> str:
        """The reason in one line."""
        found = [f"{_(name)} {number(value, 2)}" for name, value in self.parts]
        return " · ".join([_("search: “{words}”", words=self.asked) if self.asked else _("read by the agent"), *found])


def given(request: SentRequest) -> list[GivenMemory]:
    """Each memory once, in the order of messages; the latest occurrence counts."""
    asked = _asked(request.messages)
    found: dict[str, GivenMemory] = {}
    for item in request.items:
        message = request.messages[item.index]
        if item.part == "memory" and not item.cut:
            for memory in _memories(message.content):
                made = _given(memory, asked.get(message.tool_call_id or "", ""))
                if made is not None:
                    found.pop(made.id, None)
                    found[made.id] = made
    return list(found.values())


def _asked(messages: Sequence[ChatMessage]) -> dict[str, str]:
    """The query of each call."""
    return {
        call.id: str(call.arguments.get("query") or "")
        for message in messages
        for call in message.tool_calls or ()
        if isinstance(call.arguments, dict)
    }


def _memories(text: str) -> list[object]:
    try:
        result = json.loads(text)
    except ValueError:
        return []
    if not isinstance(result, dict):
        return []
    listed = result.get("results") or result.get("memories") or [result.get("memory")]
    return listed if isinstance(listed, list) else []


def _given(memory: object, asked: str) -> GivenMemory | None:
    if not isinstance(memory, dict) or not isinstance(memory.get("id"), str):
        return None
    text = memory.get("content") or memory.get("preview") or ""
    values = [(name, memory.get(key)) for key, name in _PARTS if asked]
    return GivenMemory(
        memory["id"],
        str(text),
        asked,
        tuple((name, float(value)) for name, value in values if isinstance(value, int | float)),
    )
