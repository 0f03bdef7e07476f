"""Parse answers of the Responses API: events, or one response from servers that do not stream."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.model_messages import ChatDelta, ChatRequest, FinishReason, Usage
from atelier_desk.llm.error_conversion import ErrorLocation, payload_error, provider_error
from atelier_desk.llm.network.sse import Event
from atelier_desk.llm.openai_responses.message_conversion import ITEMS, REASONING
from atelier_desk.llm.replies.event_stream_parser import EventStreamParser
from atelier_desk.llm.replies.part_order import CALL, GAP, TEXT, Block, gap_before
from atelier_desk.llm.replies.typed_json_fields import count, is_count, object_of, objects_of, string_of

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_TEXT = frozenset({"response.output_text.delta", "response.refusal.delta"})
_THOUGHT = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_STORED_FIELDS = ("id", "summary", "content", "encrypted_content")
"""Fields of a reasoning item that are sent back."""


class ResponseParser(EventStreamParser):
    """Parses a response. Unknown kinds of events and items are ignored."""

    def __init__(self, request: ChatRequest, where: ErrorLocation) -> None:
        super().__init__(request, where)
        self._blocks: dict[int, Block] = {}
        self._thought: set[int] = set()
        self._argued: set[int] = set()
        self._done: set[int] = set()
        self._places: dict[str, int] = {}
        """Positions of streamed items by id and call id: a server's final list may order them differently."""

    def event(self, event: Event) -> list[ChatDelta]:
        data = self.decode(event.data)
        kind = string_of(data, "type") or event.name
        failure = payload_error(self.where, data) or (
            payload_error(self.where, {"error": data}) if kind == "error" else None
        )
        if failure is not None:
            raise failure
        index, piece = count(data.get("output_index")), string_of(data, "delta")
        if kind in _TEXT:
            return self._text(index, piece)
        if kind in _THOUGHT:
            return self._think(index, piece)
        if kind == "response.reasoning_summary_part.added" and index in self._thought:
            return self.assembler.reasoning(GAP)
        if kind == "response.function_call_arguments.delta" and index in self._blocks and piece:
            self._argued.add(index)
            return self.assembler.call(index, arguments=piece)
        if kind == "response.output_item.added":
            return self._open(self._place(object_of(data, "item"), index), object_of(data, "item"))
        if kind == "response.output_item.done":
            return self._item(self._place(object_of(data, "item"), index), object_of(data, "item"))
        if kind in _ENDS:
            deltas = self.parse_body(object_of(data, "response"))
            self.complete = self.ended = True
            return deltas
        return []

    def parse_body(self, answer: dict[str, object]) -> list[ChatDelta]:
        """Parse a response: items that were not streamed, and the finish reason."""
        if (failure := payload_error(self.where, answer)) is not None:
            raise failure
        deltas: list[ChatDelta] = []
        for index, item in enumerate(objects_of(answer, "output")):
            place = self._place(item, index, listed=True)
            if place not in self._done:
                deltas += self._item(place, item)
        self.assembler.model = string_of(answer, "model") or self.assembler.model
        self._count(object_of(answer, "usage"))
        status = string_of(answer, "status")
        if status in ("failed", "cancelled"):
            raise provider_error(self.where, "server_error", status)
        if status == "incomplete":
            filtered = object_of(answer, "incomplete_details").get("reason") == "content_filter"
            self.assembler.finish_reason = FinishReason.CONTENT_FILTER if filtered else FinishReason.LENGTH
        self.complete = self.complete or status in ("completed", "incomplete")
        return deltas

    def extra(self) -> dict[str, object]:
        """Return the order of the items, if there is reasoning among them or texts have a phase."""
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        return {ITEMS: blocks} if any(block["type"] == REASONING or "phase" in block for block in blocks) else {}

    def _place(self, item: dict[str, object], index: int, *, listed: bool = False) -> int:
        """Return the position of an item: where it was streamed, otherwise ``index``.

        In the final list, an unstreamed call gets a new position if ``index`` belongs to another call, so that exactly
        the calls made are run.
        """
        names = [name for name in (string_of(item, "call_id"), string_of(item, "id")) if name]
        place = next((self._places[name] for name in names if name in self._places), None)
        if place is None:
            in_use = listed and item.get("type") == "function_call" and index in self._places.values()
            place = max(self._places.values()) + 1 if in_use else index
        self._places.update(dict.fromkeys(names, place))
        return place

    def _open(self, index: int, item: dict[str, object]) -> list[ChatDelta]:
        if item.get("type") != "function_call" or index in self._blocks:
            return []
        self._blocks[index] = {"type": CALL}
        return self.assembler.call(index, string_of(item, "call_id"), string_of(item, "name"))

    def _item(self, index: int, item: dict[str, object]) -> list[ChatDelta]:
        """Handle a complete item: emit only the part that was not streamed."""
        self._done.add(index)
        kind = item.get("type")
        if kind == "function_call":
            deltas = self._open(index, item)
            return (
                deltas
                if index in self._argued
                else [*deltas, *self.assembler.call(index, arguments=item.get("arguments"))]
            )
        if kind == "message":
            parts = objects_of(item, "content")
            text = "".join(string_of(part, "text") or string_of(part, "refusal") for part in parts)
            deltas = [] if index in self._blocks else self._text(index, text)
            if (phase := string_of(item, "phase")) and index in self._blocks:
                self._blocks[index]["phase"] = phase
            return deltas
        if kind == REASONING:
            if item.get("encrypted_content") or item.get("content"):  # the server could not find any other
                self._blocks[index] = {
                    "type": REASONING,
                    **{field: item[field] for field in _STORED_FIELDS if item.get(field) is not None},
                }
                self._blocks[index].setdefault("summary", [])
            told = objects_of(item, "summary") or objects_of(item, "content")
            return (
                [] if index in self._thought else self._think(index, GAP.join(string_of(part, "text") for part in told))
            )
        return []

    def _text(self, index: int, piece: str) -> list[ChatDelta]:
        if not piece:
            return []
        gap = ""
        if index not in self._blocks:
            gap = gap_before(self._blocks.values())
            self._blocks[index] = {"type": TEXT, "length": 0, "gap": len(gap)}
        if self._blocks[index]["type"] != TEXT:
            return []
        self._blocks[index]["length"] += len(piece)
        return self.assembler.text(gap + piece)

    def _think(self, index: int, piece: str) -> list[ChatDelta]:
        if not piece:
            return []
        gap = GAP if self._thought and index not in self._thought else ""
        self._thought.add(index)
        return self.assembler.reasoning(gap + piece)

    def _count(self, usage: dict[str, Any]) -> None:
        if is_count(usage.get("input_tokens")) and is_count(usage.get("output_tokens")):
            sent = object_of(usage, "input_tokens_details")
            self.assembler.usage = Usage(
                tokens_input=usage["input_tokens"],
                tokens_output=usage["output_tokens"],
                tokens_cached=count(sent.get("cached_tokens")),
                tokens_stored=count(sent.get("cache_write_tokens")),
                tokens_reasoning=count(object_of(usage, "output_tokens_details").get("reasoning_tokens")),
            )
