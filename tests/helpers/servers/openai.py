"""An OpenAI-compatible server: chat completions streamed and whole, embeddings, models; and the ways real ones
differ."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from typing import Any

from tests.helpers.servers.fake_embeddings import vector_of
from tests.helpers.servers.scripted_http_server import Call, Failure, FakeServer, Reply, Request, Response, dump, split


class FakeOpenAI(FakeServer):
    """Answers below ``/v1``.

    Attributes:
        refused: request fields answered with 400, as by servers that do not know them.
        api_key: if set, requests without it get 401; ``echo_key`` makes that answer repeat the key.
        models: entries of ``/v1/models``.
        reasoning_field: ``reasoning_content`` (llama.cpp, DeepSeek) or ``reasoning`` (vLLM).
        newline, space: line ending of events, and the text after ``data:``.
        comments: send a comment line before each event, as OpenRouter does.
        base64_vectors: send vectors as base64 even when not requested.
        extra: other GET pages by path (``/props``, ``/api/v0/models`` …).
        prefix: path prefix of its pages.
        models_page: complete answer of ``/models``; ``False`` for no such page.
        web_page: answer every other path with HTML and 200, as servers with a web interface do.
        key_header: header with the key.
        chat_page: path for chats.
    """

    chat_page = "/chat/completions"

    def __init__(self) -> None:
        super().__init__()
        self.refused: dict[str, str] = {}
        self.api_key = ""
        self.echo_key = False
        self.models: list[dict[str, Any]] = [{"id": "test-model", "object": "model", "created": 1, "owned_by": "tests"}]
        self.reasoning_field = "reasoning_content"
        self.newline = "\n"
        self.space = " "
        self.comments = False
        self.base64_vectors = False
        self.shuffle_vectors = True
        self.vector_tokens = 3
        self.dimension = 8
        self.extra: dict[str, Any] = {}
        self.prefix = "/v1"
        self.models_page: Any = None
        self.web_page = False
        self.key_header = "authorization"

    @property
    def url(self) -> str:
        return f"{self.root}{self.prefix}"

    async def handle(self, request: Request, out: Response) -> None:
        expected = f"Bearer {self.api_key}" if self.key_header == "authorization" else self.api_key
        if self.api_key and request.headers.get(self.key_header) != expected:
            received = request.headers.get("authorization", "").removeprefix("Bearer ")
            message = f"Incorrect API key provided: {received}." if self.echo_key else "Incorrect API key provided."
            await out.json(
                {"error": {"message": message, "type": "invalid_request_error", "code": "invalid_api_key"}}, status=401
            )
        elif request.path == f"{self.prefix}/models" and self.models_page is not False:
            await out.json({"object": "list", "data": self.models} if self.models_page is None else self.models_page)
        elif request.path in self.extra:
            await out.json(self.extra[request.path])
        elif request.path == f"{self.prefix}/embeddings":
            await self.embeddings(request, out)
        elif request.path == f"{self.prefix}{self.chat_page}" and request.method == "POST":
            await self.chat(request, out)
        elif self.web_page:
            await out.body(b"<!doctype html><title>Chat</title>", "text/html")
        else:
            await out.json({"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}, status=404)

    async def chat(self, request: Request, out: Response) -> None:
        body = request.json
        if "messages" not in body and "prompt" not in body:
            error = {
                "message": "Missing required parameter: 'messages'.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": None,
            }
            await out.json({"error": error}, status=400)
            return
        for field, message in self.refused.items():
            if field in body:
                error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
                await out.json({"error": error}, status=400)
                return
        with_usage = (body.get("stream_options") or {}).get("include_usage", False)
        streamed = (lambda reply: self.events(reply, with_usage)) if body.get("stream") else None
        await self.play(out, streamed, lambda reply: whole(reply, self.reasoning_field))

    def events(self, reply: Reply, with_usage: bool) -> Iterator[bytes]:
        """The events of a streamed reply, as bytes."""
        for number, chunk in enumerate(
            [*self.chunks(reply), *([usage_chunk(reply)] if with_usage and reply.usage else [])]
        ):
            if reply.midway_error is not None and number == reply.error_after:
                yield self.event(dump(reply.midway_error))
                return
            yield self.event(dump(chunk))
        if reply.end_mark:
            yield self.event("[DONE]")

    def event(self, data: str) -> bytes:
        comment = f": PROCESSING{self.newline}{self.newline}" if self.comments else ""
        return f"{comment}data:{self.space}{data}{self.newline}{self.newline}".encode()

    def chunks(self, reply: Reply) -> Iterator[dict[str, Any]]:
        yield chunk_of(reply, {"role": "assistant", "content": None})
        for piece in split(reply.reasoning, reply.pieces):
            yield chunk_of(reply, {self.reasoning_field: piece})
        for piece in split(reply.text, reply.pieces):
            yield chunk_of(reply, {"content": piece})
        for index, call in enumerate(reply.calls):
            for delta in call_deltas(call, index, reply.pieces):
                yield chunk_of(reply, {"tool_calls": [delta]})
        if reply.finish is not None:
            yield chunk_of(reply, {}, "tool_calls" if reply.calls and reply.finish == "stop" else reply.finish)

    async def embeddings(self, request: Request, out: Response) -> None:
        if self.steps and isinstance(self.steps[0], Failure):
            step = self.steps.pop(0)
            assert isinstance(step, Failure)
            await out.failure(step)
            return
        body = request.json
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        packed = self.base64_vectors or body.get("encoding_format") == "base64"
        data = []
        for index, text in enumerate(texts):
            vector = vector_of(text, body.get("dimensions") or self.dimension)
            encoded = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode() if packed else vector
            data.append({"object": "embedding", "index": index, "embedding": encoded})
        if self.shuffle_vectors:
            data.reverse()
        tokens = self.vector_tokens
        usage = {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}
        await out.json({"id": "embd-1", "object": "list", "data": data, "model": body["model"], "usage": usage})


def arguments_text(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


def call_deltas(call: Call, index: int, size: int) -> Iterator[dict[str, Any]]:
    """A call in pieces: id and name only in the first, argument fragments after it."""
    text = arguments_text(call)
    identity = {} if call.id is None else {"id": call.id}
    if call.whole:
        yield {"index": index, **identity, "type": "function", "function": {"name": call.name, "arguments": text}}
        return
    yield {"index": index, **identity, "type": "function", "function": {"name": call.name, "arguments": ""}}
    for piece in split(text, size):
        yield {"index": index, "function": {"arguments": piece}}


def chunk_of(reply: Reply, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": reply.model,
        "choices": [choice],
    }


def usage_chunk(reply: Reply) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": reply.model,
        "choices": [],
        "usage": reply.usage,
    }


def whole(reply: Reply, reasoning_field: str = "reasoning_content") -> dict[str, Any]:
    """A reply that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning:
        message[reasoning_field] = reply.reasoning
    calls = list(reply.calls)
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}
            for call in calls
        ]
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls" if calls and reply.finish == "stop" else reply.finish,
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": reply.model,
        "choices": [choice],
        "usage": reply.usage,
    }
