"""Anthropic's Messages API, as strict as the real one (see ``anthropic_rules``), streamed or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

from tests.helpers.servers.anthropic_rules import Issued, Refused, check, limits_of
from tests.helpers.servers.scripted_http_server import Call, FakeServer, Reply, Request, Response, dump, split

STOPS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
KEYS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class FakeAnthropic(FakeServer):
    """Answers below ``/v1``.

    Attributes:
        api_key: if set, requests without it get 401.
        models: entries of ``/v1/models``, at most ``page_size`` at once.
        redacts: send a redacted thought after each thought.
        interleaves: think again before each call.
        forgets: reject all signatures, as after a change of key or route.
        issued: data sent with replies.
        refusals: messages to requests refused by the rules.
        at_once: send complete blocks with arguments, as servers do that only imitate the format.
    """

    def __init__(self) -> None:
        super().__init__()
        self.api_key = ""
        self.models = [
            model_entry("claude-sonnet-5", "Claude Sonnet 5"),
            model_entry("claude-haiku-4-5", "Claude Haiku 4.5"),
        ]
        self.page_size = 1000
        self.redacts = False
        self.interleaves = False
        self.forgets = False
        self.at_once = False
        self.issued = Issued()
        self.refusals: list[str] = []

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    async def handle(self, request: Request, out: Response) -> None:
        key = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.api_key and key != self.api_key:
            await out.json(error_body("authentication_error", "invalid x-api-key"), status=401)
        elif "anthropic-version" not in request.headers:
            await out.json(error_body("invalid_request_error", "anthropic-version: header is required"), status=400)
        elif request.path == "/v1/models" and request.method == "GET":
            await self.list_models(request, out)
        elif request.path == "/v1/messages" and request.method == "POST":
            await self.chat(request, out)
        else:
            await out.json(error_body("not_found_error", "Not found"), status=404)

    async def list_models(self, request: Request, out: Response) -> None:
        query = {name: values[0] for name, values in parse_qs(request.query).items()}
        ids = [entry["id"] for entry in self.models]
        start = ids.index(query["after_id"]) + 1 if "after_id" in query else 0
        page = self.models[start : start + min(int(query.get("limit", 20)), self.page_size)]
        more = start + len(page) < len(ids)
        edges = {"first_id": page[0]["id"] if page else None, "last_id": page[-1]["id"] if page else None}
        await out.json({"data": page, "has_more": more, **edges})

    async def chat(self, request: Request, out: Response) -> None:
        body = request.json
        try:
            check(body, Issued() if self.forgets else self.issued, request.headers["anthropic-version"])
        except Refused as refused:
            self.refusals.append(str(refused))
            await out.json(error_body("invalid_request_error", str(refused)), status=400)
            return
        model = body["model"]
        streamed = (lambda reply: self.events(reply, model)) if body.get("stream") else None
        await self.play(out, streamed, lambda reply: self.whole(reply, model))

    def events(self, reply: Reply, model: str) -> Iterator[bytes]:
        """The events of a streamed reply; a block's start has the first part of its content."""
        for number, piece in enumerate(self._pieces(reply, model)):
            if reply.midway_error is not None and number == reply.error_after:
                yield event("error", reply.midway_error)
                return
            yield piece

    def _pieces(self, reply: Reply, model: str) -> Iterator[bytes]:
        message = {**self.message(reply, model, []), "stop_reason": None}
        if "usage" in message:
            message["usage"] = {**message["usage"], "output_tokens": 1}
        yield event("message_start", {"message": message}) + event("ping", {})
        for index, block in enumerate(self.content(reply, model)):
            head = b""
            for chunk in self._block(index, block, reply.pieces):
                if head or not chunk.startswith(b"event: content_block_start"):
                    yield head + chunk
                    head = b""
                else:
                    head = chunk
        if reply.finish is not None:
            delta = {"stop_reason": stop_reason(reply), "stop_sequence": None}
            usage = {"output_tokens": usage_of(reply)["output_tokens"]} if reply.usage is not None else None
            yield event("message_delta", {"delta": delta, **({"usage": usage} if usage else {})})
        if reply.end_mark:
            yield event("message_stop", {})

    def _block(self, index: int, block: dict[str, Any], size: int) -> Iterator[bytes]:
        empty = block if self.at_once else bare(block)
        yield event("content_block_start", {"index": index, "content_block": empty})
        for delta in () if self.at_once else deltas(block, size):
            yield event("content_block_delta", {"index": index, "delta": delta})
        yield event("content_block_stop", {"index": index})

    def whole(self, reply: Reply, model: str) -> dict[str, Any]:
        return self.message(reply, model, self.content(reply, model))

    def message(self, reply: Reply, model: str, content: list[dict[str, Any]]) -> dict[str, Any]:
        usage = {"usage": usage_of(reply)} if reply.usage is not None else {}
        plain = [{field: value for field, value in block.items() if field != "_text"} for block in content]
        return {
            "id": "msg_01", "type": "message", "role": "assistant", "model": model, "content": plain,
            "stop_reason": stop_reason(reply), "stop_sequence": None, **usage,
        }  # fmt: skip

    def content(self, reply: Reply, model: str) -> list[dict[str, Any]]:
        """The blocks of a reply, recorded as issued."""
        thought = self._thoughts(reply.reasoning, model)
        text = [{"type": "text", "text": reply.text}] if reply.text else []
        out = [*thought, *text]
        for number, call in enumerate(reply.calls):
            if self.interleaves and thought and number:
                out += self._thoughts(f"{reply.reasoning} ({number})", model)
            out.append(tool_use(call, f"toolu_{len(self.issued.replies):02}{number}"))
        self.issued.note(model, out)
        return out

    def _thoughts(self, text: str, model: str) -> list[dict[str, Any]]:
        if not text:
            return []
        signature = f"EqQB{len(self.issued.thoughts)}+/é=="
        blocks: list[dict[str, Any]] = [{"type": "thinking", "thinking": text, "signature": signature}]
        if self.redacts:
            blocks.append({"type": "redacted_thinking", "data": f"EmwK{len(self.issued.thoughts)}"})
        for block in blocks:
            self.issued.thoughts.append((model, block))
        return blocks


def event(kind: str, data: Any) -> bytes:
    return f"event: {kind}\ndata: {dump({'type': kind, **data})}\n\n".encode()


def error_body(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011"}


def tool_use(call: Call, id: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": id if call.id is None else call.id, "name": call.name, "input": call.arguments}
    return {**block, "input": {}, "_text": call.arguments} if isinstance(call.arguments, str) else block


def bare(block: dict[str, Any]) -> dict[str, Any]:
    """A block at its start, with empty content."""
    empty: dict[str, Any] = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {field: empty.get(field, value) for field, value in block.items() if field != "_text"}


def deltas(block: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        yield from ({"type": "text_delta", "text": piece} for piece in split(block["text"], size))
    elif block["type"] == "thinking":
        yield from ({"type": "thinking_delta", "thinking": piece} for piece in split(block["thinking"], size))
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif block["type"] == "tool_use":
        yield {"type": "input_json_delta", "partial_json": ""}
        text = block.get("_text", dump(block["input"]) if block["input"] else "")
        yield from ({"type": "input_json_delta", "partial_json": piece} for piece in split(text, size))


def stop_reason(reply: Reply) -> str | None:
    return "tool_use" if reply.calls and reply.finish == "stop" else STOPS.get(reply.finish or "", reply.finish)


def usage_of(reply: Reply) -> dict[str, Any]:
    """Counts in this API's fields, converted from other APIs."""
    counted = reply.usage or {}
    if "input_tokens" in counted:
        return counted
    cached = (counted.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    sent = counted.get("prompt_tokens", 0)
    counts = (sent - cached if cached else sent, 0, cached, counted.get("completion_tokens", 0))
    return dict(zip(KEYS, counts, strict=True))


def model_entry(name: str, title: str, **more: Any) -> dict[str, Any]:
    """A model's entry in the list."""
    able = limits_of(name)
    types = {
        kind: {"supported": kind in able.thinking} for kind in ("adaptive", "enabled", "disabled", "between_tools")
    }
    levels = {level: {"supported": able.effort} for level in ("low", "medium", "high", "max", "xhigh")}
    yes, no = {"supported": True}, {"supported": False}
    edits = dict.fromkeys(("clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112"), yes)
    capabilities = {
        "batch": yes, "citations": yes, "code_execution": yes, "image_input": yes, "pdf_input": yes,
        "structured_outputs": yes,
        "context_management": {"supported": True, **edits}, "effort": {"supported": able.effort, **levels},
        "server_tools": {"supported": True, "web_search": yes, "web_fetch": yes, "code_execution": no},
        "thinking": {"supported": bool(able.thinking - {"disabled"}), "types": types},
    }  # fmt: skip
    return {
        "type": "model", "id": name, "display_name": title, "created_at": "2026-06-30T00:00:00Z", "lifecycle": "active",
        "max_input_tokens": able.window, "max_tokens": able.longest, "capabilities": capabilities, **more,
    }  # fmt: skip
