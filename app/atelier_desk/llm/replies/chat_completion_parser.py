"""Parse chat completions in OpenAI's format and the variants of compatible servers."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.model_messages import ChatDelta, ChatRequest, FinishReason, Usage
from atelier_desk.llm.error_conversion import ErrorLocation, payload_error, provider_error
from atelier_desk.llm.network.sse import Event
from atelier_desk.llm.replies.event_stream_parser import EventStreamParser
from atelier_desk.llm.replies.reasoning_parts import ReasoningParts
from atelier_desk.llm.replies.typed_json_fields import count, is_count

MOST_DOLLARS = 1e6
"""Maximum cost of a reply in dollars; also excludes integers too large for floats."""

CALL_FIELDS = ("extra_content", "provider_specific_fields")
"""Fields that servers add to a call and expect back.

Gemini's signature through Google's compatible API, and LiteLLM's.
"""

_REASONS = {
    "length": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "tool_use": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.CONTENT_FILTER,
}


class ChatCompletionParser(EventStreamParser):
    """Parses the answer to a chat completion."""

    def __init__(self, request: ChatRequest, where: ErrorLocation) -> None:
        super().__init__(request, where)
        self._parts = ReasoningParts()

    def event(self, event: Event) -> list[ChatDelta]:
        return self._chunk(self.decode(event.data), event.name)

    def parse_body(self, answer: dict[str, object]) -> list[ChatDelta]:
        deltas = self._chunk(answer, "message")
        self.complete = self.complete or bool(answer.get("choices"))
        return deltas

    def extra(self) -> dict[str, object]:
        return self._parts.value()

    def _chunk(self, chunk: dict[str, Any], event: str) -> list[ChatDelta]:
        failure = payload_error(self.where, chunk) or (
            payload_error(self.where, {"error": chunk}) if event == "error" else None
        )
        if failure is not None:
            raise failure
        usage = usage_of(chunk)
        if usage is not None:
            self.assembler.usage = usage
        if isinstance(chunk.get("model"), str) and chunk["model"]:
            self.assembler.model = chunk["model"]
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return []  # the chunk with usage has no choices
        choice = choices[0]
        delta = choice.get("delta") or choice.get("message") or {}
        deltas = self._delta(delta) if isinstance(delta, dict) else []
        self._finish(choice.get("finish_reason"))
        return deltas

    def _delta(self, delta: dict[str, Any]) -> list[ChatDelta]:
        out: list[ChatDelta] = []
        # llama.cpp, DeepSeek and LM Studio use reasoning_content, vLLM and OpenRouter reasoning; some send both
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(reasoning, str):
            out.extend(self.assembler.reasoning(reasoning))
        for field in ("reasoning_content", "reasoning"):
            self._parts.text(field, delta.get(field))
        self._parts.details(delta.get("reasoning_details"))
        out.extend(self._content(delta.get("content")))
        if isinstance(delta.get("refusal"), str):
            out.extend(self.assembler.text(delta["refusal"]))
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                out.extend(self._call(call))
        return out

    def _content(self, content: object) -> list[ChatDelta]:
        """Handle text, null, or Mistral's list of chunks; chunks other than text and reasoning are skipped."""
        if isinstance(content, str):
            return self.assembler.text(content)
        out: list[ChatDelta] = []
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, dict):
                continue
            if part.get("type") == "text" and isinstance(part.get("text"), str):
                out.extend(self.assembler.text(part["text"]))
            elif part.get("type") == "thinking":
                self._parts.thinking(part)
                out.extend(self.assembler.reasoning(_thinking_text(part.get("thinking"))))
        return out

    def _call(self, call: dict[str, Any]) -> list[ChatDelta]:
        function = call["function"] if isinstance(call.get("function"), dict) else {}
        index, id, name = call.get("index"), call.get("id"), function.get("name")
        return self.assembler.call(
            index if isinstance(index, int) else None,
            id if isinstance(id, str) and id != "null" else "",  # Mistral wrote "null" for a missing id
            name if isinstance(name, str) else "",
            function.get("arguments"),
            {field: call[field] for field in CALL_FIELDS if call.get(field)},
        )

    def _finish(self, reason: object) -> None:
        if reason is None or reason == "":
            return
        if reason == "error":
            raise provider_error(self.where, "server_error", "finish_reason error")
        self.complete = True
        self.assembler.finish_reason = _REASONS.get(str(reason), FinishReason.STOP)


def usage_of(chunk: dict[str, object]) -> Usage | None:
    """Return the server's usage, or llama.cpp's ``timings`` instead; None without counts."""
    usage = chunk.get("usage")
    if isinstance(usage, dict) and all(is_count(usage.get(key)) for key in ("prompt_tokens", "completion_tokens")):
        prompt = usage["prompt_tokens_details"] if isinstance(usage.get("prompt_tokens_details"), dict) else {}
        completion = (
            usage["completion_tokens_details"] if isinstance(usage.get("completion_tokens_details"), dict) else {}
        )
        return Usage(
            tokens_input=count(usage.get("prompt_tokens")),
            tokens_output=count(usage.get("completion_tokens")),
            tokens_cached=count(prompt.get("cached_tokens")) or count(usage.get("prompt_cache_hit_tokens")),
            tokens_reasoning=count(completion.get("reasoning_tokens")),
            cost=_dollars(usage.get("cost")),  # reported by OpenRouter
        )
    timings = chunk.get("timings")
    if isinstance(timings, dict) and is_count(timings.get("predicted_n")):
        cached = count(timings.get("cache_n"))
        return Usage(
            tokens_input=count(timings.get("prompt_n")) + cached,
            tokens_output=count(timings["predicted_n"]),
            tokens_cached=cached,
        )
    return None


def _dollars(value: Any) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if number and 0 <= value < MOST_DOLLARS else 0.0


def _thinking_text(thinking: object) -> str:
    if isinstance(thinking, str):
        return thinking
    parts = thinking if isinstance(thinking, list) else []
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
