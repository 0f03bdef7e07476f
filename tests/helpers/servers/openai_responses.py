"""OpenAI's Responses API, as strict as the real one (see ``openai_responses_rules``), streamed or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.helpers.servers.openai import FakeOpenAI, arguments_text
from tests.helpers.servers.openai_responses_rules import Issued, Refused, check, limits_of
from tests.helpers.servers.scripted_http_server import Reply, Request, Response, dump, split


class FakeResponses(FakeOpenAI):
    """Answers below ``/v1``.

    Attributes:
        interleaves: reason again before each call.
        phases: mark each text as commentary or answer.
        forgets: reject all reasoning, as after a change of key.
        verified: the organization may stream and get summaries.
        at_once: send items only when complete, as servers do that only imitate the format.
        issued: data sent with replies.
        refusals: messages to requests refused by the rules.
    """

    chat_page = "/responses"

    def __init__(self) -> None:
        super().__init__()
        self.models = [
            {"id": name, "object": "model", "created": 1, "owned_by": "system"} for name in ("gpt-5.5", "gpt-4.1")
        ]
        self.interleaves = False
        self.phases = False
        self.forgets = False
        self.verified = True
        self.at_once = False
        self.issued = Issued()
        self.refusals: list[str] = []

    @property
    def chats(self) -> list[Any]:
        """The bodies of the requests for replies, in order."""
        return [request.json for request in self.of(f"{self.prefix}{self.chat_page}")]

    async def chat(self, request: Request, out: Response) -> None:
        body = request.json
        if "gone" in body.get("model", ""):
            message = f"The model '{body['model']}' does not exist or you do not have access to it."
            await out.json(error_body(message, code="model_not_found"), status=404)
            return
        try:
            check(body, Issued() if self.forgets else self.issued)
            self._verify(body)
        except Refused as refused:
            self.refusals.append(str(refused))
            await out.json(error_body(str(refused), refused.field, refused.code), status=400)
            return
        model = body["model"]
        streamed = (lambda reply: self.streamed(reply, model)) if body.get("stream") else None
        await self.play(out, streamed, lambda reply: self.whole(reply, model))

    def _verify(self, body: dict[str, Any]) -> None:
        for field, what, on in (
            ("reasoning.summary", "generate reasoning summaries", body.get("reasoning", {}).get("summary")),
            ("stream", "stream this model", body.get("stream")),
        ):
            if on and not self.verified:
                raise Refused(f"Your organization must be verified to {what}.", field, "unsupported_value")

    def whole(self, reply: Reply, model: str) -> dict[str, Any]:
        return self.response(reply, model, self.output(reply, model))

    def response(self, reply: Reply, model: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        reason = {"length": "max_output_tokens"}.get(reply.finish or "", reply.finish)
        whole = reply.finish in ("stop", "tool_calls")
        return {
            "id": "resp_1", "object": "response", "created_at": 1, "model": model, "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto", "tools": [], "error": None, "status": "completed" if whole else "incomplete",
            "incomplete_details": None if whole else {"reason": reason}, "usage": usage_of(reply),
        }  # fmt: skip

    def output(self, reply: Reply, model: str) -> list[dict[str, Any]]:
        """The items of a reply, recorded as issued."""
        out = self._reasoning(reply.reasoning, model)
        if reply.text:
            phase = {"phase": "commentary" if reply.calls else "final_answer"} if self.phases else {}
            self.issued.phases.update((reply.text, each) for each in phase.values())
            content = [{"type": "output_text", "text": reply.text, "annotations": []}]
            out.append(
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "status": "completed",
                    "content": content,
                    **phase,
                }
            )
        for number, call in enumerate(reply.calls):
            if self.interleaves and reply.reasoning and number:
                out += self._reasoning(f"{reply.reasoning} ({number})", model)
            id = f"call_{len(self.issued.replies):02}{number}" if call.id is None else call.id
            out.append(
                {
                    "type": "function_call",
                    "id": f"fc_{number}",
                    "call_id": id,
                    "name": call.name,
                    "arguments": arguments_text(call),
                }
            )
        self.issued.note(model, out)
        return out

    def _reasoning(self, text: str, model: str) -> list[dict[str, Any]]:
        if not text or not limits_of(model).efforts:
            return []
        number = len(self.issued.reasoning)
        item = {"type": "reasoning", "id": f"rs_{number}", "summary": [{"type": "summary_text", "text": text}],
                "encrypted_content": f"gAAAA{number}+/é=="}  # fmt: skip
        self.issued.reasoning.append((model, item))
        return [item]

    def streamed(self, reply: Reply, model: str) -> Iterator[bytes]:
        """The events of a streamed reply; an item's start has the first part of its content."""
        pieces, head = 0, b""
        for number, (kind, data) in enumerate(self._events(reply, model)):
            if reply.midway_error is not None and pieces == reply.error_after:
                yield event("error", {**reply.midway_error, "sequence_number": number})
                return
            head += event(kind, {**data, "sequence_number": number})
            if not kind.endswith(".added"):
                yield head
                pieces, head = pieces + 1, b""

    def _events(self, reply: Reply, model: str) -> Iterator[tuple[str, dict[str, Any]]]:
        begun = {**self.response(reply, model, []), "status": "in_progress", "usage": None}
        output = self.output(reply, model)
        yield "response.created", {"response": begun}
        for index, item in enumerate(output):
            if not self.at_once:
                for kind, data in item_events(item, reply.pieces):
                    yield kind, {"output_index": index, "item_id": item["id"], **data}
            yield "response.output_item.done", {"output_index": index, "item": item}
        if reply.finish is not None:
            last = self.response(reply, model, output)
            yield f"response.{last['status']}", {"response": last}


def item_events(item: dict[str, Any], size: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of an item until it is complete."""
    if item["type"] == "message":
        yield "response.output_item.added", {"item": {**item, "content": [], "status": "in_progress"}}
        part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": []}
        yield "response.content_part.added", {"content_index": 0, "part": part}
        for piece in split(item["content"][0]["text"], size):
            yield "response.output_text.delta", {"content_index": 0, "delta": piece, "logprobs": []}
        yield "response.output_text.done", {"content_index": 0, "text": item["content"][0]["text"], "logprobs": []}
    elif item["type"] == "reasoning":
        yield "response.output_item.added", {"item": {**item, "summary": [], "encrypted_content": "gAAAA"}}
        yield (
            "response.reasoning_summary_part.added",
            {"summary_index": 0, "part": {"type": "summary_text", "text": ""}},
        )
        for piece in split(item["summary"][0]["text"], size):
            yield "response.reasoning_summary_text.delta", {"summary_index": 0, "delta": piece}
        yield "response.reasoning_summary_text.done", {"summary_index": 0, "text": item["summary"][0]["text"]}
    else:
        yield "response.output_item.added", {"item": {**item, "arguments": ""}}
        for piece in split(item["arguments"], size):
            yield "response.function_call_arguments.delta", {"delta": piece}
        yield "response.function_call_arguments.done", {"arguments": item["arguments"]}


def event(kind: str, data: Any) -> bytes:
    return f"event: {kind}\ndata: {dump({'type': kind, **data})}\n\n".encode()


def error_body(
    message: str, field: str | None = None, code: str | None = None, kind: str = "invalid_request_error"
) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": field, "code": code}}


def usage_of(reply: Reply) -> dict[str, Any] | None:
    """Counts in this API's fields, converted from chat completions."""
    usage = reply.usage
    if usage is None or "input_tokens" in usage:
        return usage
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    reasoning = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens", 0)
    return {
        "input_tokens": usage.get("prompt_tokens", 0), "output_tokens": usage.get("completion_tokens", 0),
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "total_tokens": usage.get("total_tokens", 0),
        "output_tokens_details": {"reasoning_tokens": reasoning},
    }  # fmt: skip
