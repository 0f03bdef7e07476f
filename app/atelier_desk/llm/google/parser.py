"""Parse answers of the Gemini API: events, or one answer from servers that do not stream."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.model_messages import ChatDelta, ChatRequest, FinishReason, Usage
from atelier_desk.llm.error_conversion import ErrorLocation, payload_error, provider_error
from atelier_desk.llm.google.message_conversion import PARTS, SIGNATURE, THOUGHT, wire_name
from atelier_desk.llm.network.sse import Event
from atelier_desk.llm.replies.event_stream_parser import EventStreamParser
from atelier_desk.llm.replies.part_order import CALL, TEXT, Block, gap_before
from atelier_desk.llm.replies.typed_json_fields import count, is_count, object_of, objects_of, string_of

_FILTERED = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR"}
    | {"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}
)
_BROKEN = frozenset({"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"})
"""Finish reasons for unparsable model output: a retry nearly always succeeds."""
_LENGTH = frozenset({"MAX_TOKENS", "CONTINUATION"})
_UNSIGNED = "Function call is missing a thought_signature"
"""Message for the finish reason ``MISSING_THOUGHT_SIGNATURE``, as in the API's own error."""


class ContentParser(EventStreamParser):
    """Parses a reply. Parts other than text, reasoning and calls are ignored, as are all candidates but the first."""

    def __init__(self, request: ChatRequest, where: ErrorLocation) -> None:
        super().__init__(request, where)
        self._names = {wire_name(tool.name): tool.name for tool in request.tools}
        self._layout: list[Block] = []
        self._calls = 0

    def event(self, event: Event) -> list[ChatDelta]:
        return self.parse_body(self.decode(event.data))

    def parse_body(self, answer: dict[str, object]) -> list[ChatDelta]:
        """Parse an answer or a part of one: they have the same format."""
        if (failure := payload_error(self.where, answer)) is not None:
            raise failure
        self.assembler.model = string_of(answer, "modelVersion") or self.assembler.model
        self._count(object_of(answer, "usageMetadata"))
        if string_of(object_of(answer, "promptFeedback"), "blockReason"):
            self.complete = True
            self.assembler.finish_reason = FinishReason.CONTENT_FILTER
        candidate = next(iter(objects_of(answer, "candidates")), {})
        deltas: list[ChatDelta] = []
        for part in objects_of(object_of(candidate, "content"), "parts"):
            deltas += self._part(part)
        self._finish(string_of(candidate, "finishReason"), string_of(candidate, "finishMessage"))
        return deltas

    def extra(self) -> dict[str, object]:
        """Return the order of the parts, if text or reasoning among them is signed."""
        return {PARTS: self._layout} if any(SIGNATURE in block for block in self._layout) else {}

    def _part(self, part: dict[str, object]) -> list[ChatDelta]:
        signature = string_of(part, SIGNATURE)
        signed: Block = {SIGNATURE: signature} if signature else {}
        text = string_of(part, "text")
        if part.get("thought") is True:
            if signed:
                self._layout.append({"type": THOUGHT, "text": text, **signed})
            return self.assembler.reasoning(text)
        if isinstance(call := part.get("functionCall"), dict):
            return self._call(call, signed)
        return self._text(text, signed) if text or signed else []

    def _call(self, call: dict[str, object], signed: Block) -> list[ChatDelta]:
        self._layout.append({"type": CALL})
        self._calls += 1
        name = string_of(call, "name")
        return self.assembler.call(
            self._calls, string_of(call, "id"), self._names.get(name, name), call.get("args"), signed
        )

    def _text(self, text: str, signed: Block) -> list[ChatDelta]:
        """Append to the previous text, unless one of the two is signed: such parts are never merged."""
        last = self._layout[-1] if self._layout else {}
        if last.get("type") == TEXT and SIGNATURE not in last and not signed:
            last["length"] += len(text)
            return self.assembler.text(text)
        gap = "" if last.get("type") == TEXT or not text else gap_before(self._layout)
        self._layout.append({"type": TEXT, "length": len(text), "gap": len(gap), **signed})
        return self.assembler.text(gap + text)

    def _finish(self, reason: str, message: str) -> None:
        if not reason or reason == "FINISH_REASON_UNSPECIFIED":
            return
        if reason in _BROKEN:
            raise provider_error(self.where, "server_error", f"{reason} {message}".strip())
        if reason == "MISSING_THOUGHT_SIGNATURE":
            raise provider_error(self.where, "bad_request", f"{_UNSIGNED}. {message}".strip())
        self.complete = True
        length = FinishReason.LENGTH if reason in _LENGTH else FinishReason.STOP
        self.assembler.finish_reason = FinishReason.CONTENT_FILTER if reason in _FILTERED else length

    def _count(self, usage: dict[str, Any]) -> None:
        """Store usage: counts are cumulative, so the newest apply.

        Cache reads are part of the prompt; reasoning is not part of the candidates.
        """
        if is_count(usage.get("promptTokenCount")):
            thoughts = count(usage.get("thoughtsTokenCount"))
            self.assembler.usage = Usage(
                tokens_input=usage["promptTokenCount"] + count(usage.get("toolUsePromptTokenCount")),
                tokens_output=count(usage.get("candidatesTokenCount")) + thoughts,
                tokens_cached=count(usage.get("cachedContentTokenCount")),
                tokens_reasoning=thoughts,
            )
