"""Ollama's API: lines of JSON, arguments as objects, complete calls, optional counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.helpers.servers.fake_embeddings import vector_of
from tests.helpers.servers.scripted_http_server import Failure, FakeServer, Reply, Request, Response, dump, split
from tests.helpers.servers.thinking_check import Thoughts

TIME = "2026-01-01T00:00:00.000000Z"
DETAILS = {
    "format": "gguf",
    "family": "llama",
    "families": ["llama"],
    "parameter_size": "8B",
    "quantization_level": "Q4_K_M",
}


class FakeOllama(FakeServer):
    """Answers ``/api/chat``, ``/api/tags``, ``/api/show``, ``/api/embed`` and ``/api/version``.

    Attributes:
        installed: models by name with their capabilities; None for an old server that does not report them.
        call_ids: give calls an id, as newer servers do.
        embed_limit: characters of a text that ``/api/embed`` accepts.
        thoughts: thinking before calls; a thinking model refuses the calls without it.
        no_metadata: offer only the chat endpoint, as programs that imitate Ollama do.
    """

    def __init__(self) -> None:
        super().__init__()
        self.installed: dict[str, list[str] | None] = {
            "test-model:latest": ["completion", "tools"],
            "nomic-embed-text:latest": ["embedding"],
        }
        self.call_ids = False
        self.thoughts = Thoughts()
        self.window = 131_072
        self.dimension = 8
        self.embed_limit: int | None = None
        self.no_metadata = False

    @property
    def url(self) -> str:
        return self.root

    async def handle(self, request: Request, out: Response) -> None:
        pages = {"/api/chat": self.chat, "/api/show": self.show, "/api/embed": self.embed}
        if self.no_metadata and request.path != "/api/chat":
            await out.body(b"404 page not found", "text/plain", status=404)
        elif request.path in pages:
            await pages[request.path](request, out)
        elif request.path == "/api/version":
            await out.json({"version": "0.12.3"})
        elif request.path == "/api/tags":
            await out.json(
                {"models": [self.entry(name, capabilities) for name, capabilities in self.installed.items()]}
            )
        else:
            await out.body(b"404 page not found", "text/plain", status=404)

    async def chat(self, request: Request, out: Response) -> None:
        body = request.json
        if "model" not in body:
            await out.json({"error": "model is required"}, status=400)
            return
        refusal = self.refusal_of(body)
        if refusal is not None:
            await out.json({"error": refusal[1]}, status=refusal[0])
            return
        step = self.next_step()
        if isinstance(step, Reply):
            self.thoughts.note(body["model"], step)
        if isinstance(step, Failure):
            await out.failure(step)
        elif step.raw is not None:
            await out.stream([step.raw], "application/x-ndjson", step)
        elif body.get("stream", True):
            await out.stream(self.lines(step), "application/x-ndjson", step)
        else:
            thoughts = {"thinking": step.reasoning} if step.reasoning else {}
            await out.json(
                self.last(step, {"role": "assistant", "content": step.text, **thoughts, **self.extras(step)})
            )

    def refusal_of(self, body: dict[str, Any]) -> tuple[int, str] | None:
        """What the real server refuses, and what it accepts with worse results.

        Refused: missing models, unsupported thinking, arguments that are not an object. Worse: calls without
        their thinking.
        """
        name = body["model"] if ":" in body["model"] else f"{body['model']}:latest"
        if name not in self.installed:
            return 404, f"model '{body['model']}' not found"
        capabilities = self.installed[name]
        if capabilities is not None and "completion" not in capabilities:
            return 400, f'"{body["model"]}" does not support chat'
        if body.get("think") and "thinking" not in (capabilities or ()):
            return 400, f'"{body["model"]}" does not support thinking'
        for message in body["messages"]:
            for call in message.get("tool_calls") or ():
                if not isinstance(call["function"]["arguments"], dict):
                    kind = "ToolCallFunctionArguments"
                    return (
                        400,
                        f"json: cannot unmarshal string into Go struct field {kind} of type map[string]interface {{}}",
                    )
            calls = [
                (call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ()
            ]
            if self.thoughts.missing(body["model"], calls, message.get("thinking", "")):
                return 400, "the thinking of an assistant message is missing or changed"
        return None

    def lines(self, reply: Reply) -> Iterator[bytes]:
        for number, line in enumerate(self.chunks(reply)):
            if reply.midway_error is not None and number == reply.error_after:
                yield f"{dump(reply.midway_error)}\n".encode()
                return
            yield f"{dump(line)}\n".encode()

    def chunks(self, reply: Reply) -> Iterator[dict[str, Any]]:
        for piece in split(reply.reasoning, reply.pieces):
            yield self.chunk(reply, {"role": "assistant", "content": "", "thinking": piece})
        for piece in split(reply.text, reply.pieces):
            yield self.chunk(reply, {"role": "assistant", "content": piece})
        calls = self.extras(reply).get("tool_calls")
        if calls:
            yield self.chunk(reply, {"role": "assistant", "content": "", "tool_calls": calls})
        if reply.end_mark:
            yield self.last(reply, {"role": "assistant", "content": ""})

    def chunk(self, reply: Reply, message: dict[str, Any]) -> dict[str, Any]:
        return {"model": reply.model, "created_at": TIME, "message": message, "done": False}

    def last(self, reply: Reply, message: dict[str, Any]) -> dict[str, Any]:
        usage = reply.usage or {}
        names = {"prompt_tokens": "prompt_eval_count", "completion_tokens": "eval_count"}
        counts = {wire: usage[name] for name, wire in names.items() if name in usage}
        end = {
            "done": True,
            "done_reason": reply.finish or "stop",
            "total_duration": 5_000_000,
            "load_duration": 1_000_000,
            **counts,
        }
        return {**self.chunk(reply, message), **end}

    def extras(self, reply: Reply) -> dict[str, Any]:
        calls = []
        for index, call in enumerate(reply.calls):
            identity = {"id": call.id} if self.call_ids and call.id else {}
            calls.append({**identity, "function": {"index": index, "name": call.name, "arguments": call.arguments}})
        return {"tool_calls": calls} if calls else {}

    async def show(self, request: Request, out: Response) -> None:
        name = request.json["model"] if ":" in request.json["model"] else f"{request.json['model']}:latest"
        if name not in self.installed:
            await out.json({"error": f"model '{request.json['model']}' not found"}, status=404)
            return
        answer: dict[str, Any] = {
            "modelfile": "",
            "parameters": "",
            "template": "",
            "details": DETAILS,
            "model_info": {"general.architecture": "llama", "llama.context_length": self.window},
            "modified_at": TIME,
        }
        if self.installed[name] is not None:
            answer["capabilities"] = self.installed[name]
        await out.json(answer)

    def entry(self, name: str, capabilities: list[str] | None) -> dict[str, Any]:
        known: dict[str, Any] = {"name": name, "model": name, "modified_at": TIME, "details": DETAILS}
        entry = {**known, "size": 4_000_000_000, "digest": "0" * 64}
        return entry if capabilities is None else {**entry, "capabilities": capabilities}

    async def embed(self, request: Request, out: Response) -> None:
        if self.steps and isinstance(self.steps[0], Failure):
            step = self.steps.pop(0)
            assert isinstance(step, Failure)
            await out.failure(step)
            return
        body = request.json
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        if self.embed_limit is not None and any(len(text) > self.embed_limit for text in texts):
            await out.json({"error": "the input length exceeds the context length"}, status=400)
            return
        vectors = [vector_of(text, body.get("dimensions") or self.dimension) for text in texts]
        await out.json(
            {
                "model": body["model"],
                "embeddings": vectors,
                "total_duration": 1,
                "load_duration": 1,
                "prompt_eval_count": 3,
            }
        )
