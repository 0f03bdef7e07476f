"""Parse answers of the Messages API: events, or one message from servers that do not stream."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.model_messages import ChatDelta, ChatRequest, FinishReason, Usage
from atelier_desk.llm.anthropic.message_conversion import BLOCKS, THOUGHTS
from atelier_desk.llm.error_conversion import ErrorLocation, payload_error
from atelier_desk.llm.network.sse import Event
from atelier_desk.llm.replies.event_stream_parser import EventStreamParser
from atelier_desk.llm.replies.part_order import GAP, Block
from atelier_desk.llm.replies.typed_json_fields import count, is_count, object_of, string_of

_REASONS = {
    "tool_use": FinishReason.TOOL_CALLS,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "pause_turn": FinishReason.LENGTH,  # a server-side tool took long: the model continues when asked to
    "refusal": FinishReason.CONTENT_FILTER,
}
_TEXTS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
"""The field of each kind of delta; a signature follows its reasoning."""


class MessageParser(EventStreamParser):
    """Parses a message. Unknown kinds of events, blocks and deltas are ignored."""

    def __init__(self, request: ChatRequest, where: ErrorLocation) -> None:
        super().__init__(request, where)
        self._blocks: dict[int, Block] = {}
        self._wrote: set[str] = set()
        self._last = ""
        self._usage: dict[str, Any] = {}

    def event(self, event: Event) -> list[ChatDelta]:
        data = self.decode(event.data)
        kind = data.get("type") or event.name
        index = count(data.get("index"))
        failure = payload_error(self.where, data) or (
            payload_error(self.where, {"error": data}) if kind == "error" else None
        )
        if failure is not None:
            raise failure
        if kind == "message_start":
            return self._start(object_of(data, "message"))
        if kind == "content_block_start":
            return self._open(index, object_of(data, "content_block"))
        if kind == "content_block_delta":
            return self._piece(index, object_of(data, "delta"))
        if kind == "content_block_stop":
            return self._closed(index)
        if kind == "message_delta":
            self._finish(object_of(data, "delta").get("stop_reason"), object_of(data, "usage"))
        elif kind == "message_stop":
            self.ended = True
        return []

    def parse_body(self, answer: dict[str, Any]) -> list[ChatDelta]:
        if (failure := payload_error(self.where, answer)) is not None:
            raise failure
        deltas = self._start(answer)
        content = answer["content"] if isinstance(answer.get("content"), list) else []
        for index, block in enumerate(each for each in content if isinstance(each, dict)):
            deltas += [*self._open(index, block), *self._closed(index)]
        self._finish(answer.get("stop_reason"), {})
        return deltas

    def extra(self) -> dict[str, object]:
        """Return the order of the blocks, if there is reasoning among them."""
        blocks = [_stored_block(self._blocks[index]) for index in sorted(self._blocks)]
        return {BLOCKS: blocks} if any(block["type"] in THOUGHTS for block in blocks) else {}

    def _start(self, message: dict[str, Any]) -> list[ChatDelta]:
        if isinstance(message.get("model"), str) and message["model"]:
            self.assembler.model = message["model"]
        self._count(object_of(message, "usage"))
        return []

    def _open(self, index: int, block: Block) -> list[ChatDelta]:
        """Start a block; some servers send it complete."""
        kind, before = block.get("type"), self._last
        self._last = str(kind)
        if kind in THOUGHTS:
            gap = GAP if kind == "thinking" and "thinking" in self._wrote else ""
            self._blocks[index] = dict(block)
            return self.assembler.reasoning(gap + self._written("thinking", string_of(block, "thinking")))
        if kind == "text":
            # Text is split where a source is cited: only text after another kind of block starts a new paragraph.
            gap = GAP if "text" in self._wrote and before != "text" else ""
            self._blocks[index] = {"type": "text", "length": len(string_of(block, "text")), "gap": len(gap)}
            return self.assembler.text(gap + self._written("text", string_of(block, "text")))
        if kind == "tool_use":
            self._blocks[index] = {"type": "tool_use", "input": block.get("input") or None}
            return self.assembler.call(index, string_of(block, "id"), string_of(block, "name"))
        return []

    def _written(self, kind: str, text: str) -> str:
        """Return the text, remembering that there was some of its kind."""
        if text:
            self._wrote.add(kind)
        return text

    def _piece(self, index: int, delta: dict[str, object]) -> list[ChatDelta]:
        block = self._blocks.get(index, {})
        kind, piece = block.get("type"), string_of(delta, _TEXTS.get(str(delta.get("type")), ""))
        match delta.get("type"), kind:
            case "text_delta", "text":
                block["length"] += len(piece)
                return self.assembler.text(self._written("text", piece))
            case "thinking_delta", "thinking":
                block["thinking"] = string_of(block, "thinking") + piece
                return self.assembler.reasoning(self._written("thinking", piece))
            case "signature_delta", "thinking":
                block["signature"] = string_of(block, "signature") + piece
            case "input_json_delta", "tool_use" if piece:
                block["input"] = None
                return self.assembler.call(index, arguments=piece)
        return []

    def _closed(self, index: int) -> list[ChatDelta]:
        """Emit the arguments of a call that came complete with its start."""
        arguments = self._blocks.get(index, {}).pop("input", None)
        return self.assembler.call(index, arguments=arguments) if arguments is not None else []

    def _finish(self, reason: object, usage: dict[str, object]) -> None:
        self._count(usage)
        if reason is not None and reason != "":
            self.complete = True
            self.assembler.finish_reason = _REASONS.get(str(reason), FinishReason.STOP)

    def _count(self, usage: dict[str, object]) -> None:
        """Store usage: counts are cumulative, so the newest apply.

        Input is split into cache reads, cache writes and the rest.
        """
        self._usage |= {field: value for field, value in usage.items() if value is not None}
        read, stored = (count(self._usage.get(f"cache_{way}_input_tokens")) for way in ("read", "creation"))
        if is_count(self._usage.get("input_tokens")) and is_count(self._usage.get("output_tokens")):
            self.assembler.usage = Usage(
                tokens_input=self._usage["input_tokens"] + read + stored,
                tokens_output=self._usage["output_tokens"],
                tokens_cached=read,
                tokens_stored=stored,
                tokens_reasoning=count(object_of(self._usage, "output_tokens_details").get("thinking_tokens")),
            )


def _stored_block(block: Block) -> Block:
    return {"type": "tool_use"} if block["type"] == "tool_use" else block
