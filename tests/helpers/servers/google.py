"""Google's Gemini API, as strict as the real one (see ``google_rules``), streamed or not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, unquote

from tests.helpers.servers.fake_embeddings import vector_of
from tests.helpers.servers.google_rules import SKIPS, Issued, Refused, check, limits_of
from tests.helpers.servers.scripted_http_server import FakeServer, Reply, Request, Response, dump, split

STOPS = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
STATUS = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip


class FakeGoogle(FakeServer):
    """Answers below ``/v1beta`` and ``/v1``.

    Attributes:
        api_key: if set, requests without it are refused with 400, like the real one.
        models: entries of ``/models``, at most ``page_size`` at once.
        forgets: reject all signatures, as after a change of key or route.
        skips: values accepted in place of a signature.
        issued: data sent with replies.
        refusals: messages to requests refused by the rules.
    """

    def __init__(self) -> None:
        super().__init__()
        self.api_key = ""
        self.models = [
            model_entry("gemini-3.5-flash", "Gemini 3.5 Flash"),
            model_entry("gemini-2.5-flash-lite", "Gemini 2.5 Flash-Lite"),
        ]
        self.page_size = 1000
        self.forgets = False
        self.skips = SKIPS
        self.issued = Issued()
        self.refusals: list[str] = []

    @property
    def url(self) -> str:
        return f"{self.root}/v1beta"

    @property
    def chats(self) -> list[Any]:
        """The bodies of the requests for replies, in order."""
        return [request.json for request in self.requests if "enerateContent" in request.path]

    async def handle(self, request: Request, out: Response) -> None:
        version, _, rest = request.path.removeprefix("/").partition("/")
        key = request.headers.get("x-goog-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
        resource, _, method = unquote(rest).partition(":")
        if version not in ("v1", "v1beta"):
            await out.json(error_body(404, "Requested entity was not found."), status=404)
        elif self.api_key and not key:
            message = "Method doesn't allow unregistered callers (callers without established identity)."
            await out.json(error_body(403, message), status=403)
        elif self.api_key and key != self.api_key:
            await out.json(bad_key(), status=400)
        elif resource == "models" and request.method == "GET":
            await self.list_models(request, out)
        elif method in ("generateContent", "streamGenerateContent") and request.method == "POST":
            await self.chat(request, resource.removeprefix("models/"), out, streams=method.startswith("stream"))
        elif method == "batchEmbedContents":
            texts = [each["content"]["parts"][0]["text"] for each in request.json["requests"]]
            await out.json({"embeddings": [{"values": vector_of(text, 8)} for text in texts]})
        else:
            await out.json(error_body(404, "Requested entity was not found."), status=404)

    async def list_models(self, request: Request, out: Response) -> None:
        query = {name: values[0] for name, values in parse_qs(request.query).items()}
        start = int(query.get("pageToken", 0))
        end = start + min(int(query.get("pageSize", 50)), self.page_size)
        more = {"nextPageToken": str(end)} if end < len(self.models) else {}
        await out.json({"models": self.models[start:end], **more})

    async def chat(self, request: Request, model: str, out: Response, *, streams: bool) -> None:
        body = request.json
        if "gone" in model:
            message = f"models/{model} is not found for API version v1beta, or is not supported for generateContent."
            await out.json(error_body(404, message), status=404)
            return
        try:
            check(model, body, Issued() if self.forgets else self.issued, self.skips)
        except Refused as refused:
            self.refusals.append(str(refused))
            await out.json(error_body(400, str(refused)), status=400)
            return
        streamed = (lambda reply: self.events(reply, model)) if streams and "alt=sse" in request.query else None
        await self.play(
            out, streamed, lambda reply: [self.whole(reply, model)] if streams else self.whole(reply, model)
        )

    def events(self, reply: Reply, model: str) -> Iterator[bytes]:
        """The events of a streamed reply; the last one has the finish reason."""
        answers = list(self._answers(reply, model))
        for number, answer in enumerate(answers):
            if reply.midway_error is not None and number == reply.error_after:
                break
            yield event(answer)
        if reply.midway_error is not None:
            yield event(reply.midway_error)

    def whole(self, reply: Reply, model: str) -> dict[str, Any]:
        """The reply as one answer."""
        return answer_of(reply, model, self.parts(reply, model), last=True)

    def parts(self, reply: Reply, model: str) -> list[dict[str, Any]]:
        """The parts of a reply, recorded as issued; the first call is signed, or the text without calls."""
        out: list[dict[str, Any]] = []
        if reply.reasoning:
            out.append({"text": reply.reasoning, "thought": True})
        plain = not (reply.reasoning or limits_of(model).signs)
        text: dict[str, Any] = {"text": reply.text}
        if reply.text:
            out.append(text if plain or reply.calls else self.issued.sign(model, text))
        for number, call in enumerate(reply.calls):
            args = json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
            part = {
                "functionCall": {"name": call.name, "args": args, **({"id": call.id} if call.id is not None else {})}
            }
            out.append(part if number or plain else self.issued.sign(model, part))
        return out

    def _answers(self, reply: Reply, model: str) -> Iterator[dict[str, Any]]:
        """A text in pieces, then its signature in an empty part."""
        pieces: list[list[dict[str, Any]]] = []
        for part in self.parts(reply, model):
            if "functionCall" in part:
                pieces.append([part])
                continue
            more = {"thought": True} if part.get("thought") else {}
            pieces += [[{"text": each, **more}] for each in split(part["text"], reply.pieces)]
            if "thoughtSignature" in part:
                pieces.append([{"text": "", "thoughtSignature": part["thoughtSignature"]}])
        for number, each in enumerate(pieces or [[]]):
            yield answer_of(reply, model, each, last=number == max(len(pieces), 1) - 1)


def answer_of(reply: Reply, model: str, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0}
    if parts:
        candidate["content"] = {"role": "model", "parts": parts}
    if last and reply.finish is not None:
        candidate["finishReason"] = STOPS.get(reply.finish, reply.finish)
    usage = {"usageMetadata": usage_of(reply)} if reply.usage is not None else {}
    return {"candidates": [candidate], **usage, "modelVersion": model, "responseId": "r-1"}


def event(data: Any) -> bytes:
    return f"data: {dump(data)}\r\n\r\n".encode()


def error_body(status: int, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": STATUS[status]}}


def bad_key() -> dict[str, Any]:
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
    }
    body = error_body(400, "API key not valid. Please pass a valid API key.")
    return {"error": {**body["error"], "details": [info]}}


def usage_of(reply: Reply) -> dict[str, Any]:
    """Counts in this API's fields, converted from other APIs."""
    usage = reply.usage or {}
    if "promptTokenCount" in usage:
        return usage
    sent, generated = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    counts = {"promptTokenCount": sent, "candidatesTokenCount": generated, "totalTokenCount": usage.get("total_tokens")}
    return {**counts, "cachedContentTokenCount": cached} if cached else counts


def model_entry(name: str, title: str, **more: Any) -> dict[str, Any]:
    """A model's entry in the list."""
    able = limits_of(name)
    return {
        "name": f"models/{name}", "version": "001", "displayName": title, "description": title,
        "inputTokenLimit": able.window,
        "outputTokenLimit": able.longest,
        "supportedGenerationMethods": ["generateContent", "countTokens", "batchGenerateContent"],
        "temperature": 1, "topP": 0.95, "topK": 64, "maxTemperature": 2, "thinking": able.thinks, **more,
    }  # fmt: skip
