"""Servers that send data with replies and refuse (400) a conversation without it or with changes.

Google's compatible address (a signature with each first call), OpenRouter (``reasoning_details`` with
signature and encrypted part) and DeepSeek (``reasoning_content`` of every assistant message). They check the
complete conversation, the real ones only its last turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from tests.helpers.servers.openai import FakeOpenAI, chunk_of
from tests.helpers.servers.scripted_http_server import Reply, Request, Response, split


class SigningServer(FakeOpenAI):
    """Base of these servers.

    Attributes:
        issued: data sent with replies, in order; a request may contain nothing else.
        refusals: messages to refused requests.
        streams: answer with events, or always with one JSON body.
        model: model of the newest request.
        forgets: reject all data, as after a change of key or route.
    """

    def __init__(self) -> None:
        super().__init__()
        self.issued: list[Any] = []
        self.refusals: list[str] = []
        self.streams = True
        self.forgets = False
        self.model = ""

    async def chat(self, request: Request, out: Response) -> None:
        self.model = request.json["model"]
        refusal = self.refusal_of(request.json["messages"])
        if refusal:
            self.refusals.append(refusal)
            await out.json(self.error(refusal), status=400)
            return
        if self.streams:
            await super().chat(request, out)
            return
        step = self.next_step()
        assert isinstance(step, Reply)
        await out.json(self.message_of(step))

    def message_of(self, reply: Reply) -> dict[str, Any]:
        """The reply as one body, the sum of its events."""
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        for chunk in self.chunks(reply):
            for field, value in chunk["choices"][0]["delta"].items():
                if field == "tool_calls":
                    for piece in value:
                        calls = message.setdefault(field, [])
                        if piece.get("id"):
                            calls.append({**piece, "function": dict(piece["function"])})
                        else:
                            calls[-1]["function"]["arguments"] += piece["function"]["arguments"]
                elif field not in ("role", "content", "reasoning_details"):
                    message[field] = message.get(field, "") + value
        self.finish_message(message)
        finish = "tool_calls" if reply.calls else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": reply.model,
            "choices": [choice],
            "usage": reply.usage,
        }

    def finish_message(self, message: dict[str, Any]) -> None:
        """Add what the events do not simply add up to."""

    def error(self, text: str) -> Any:
        return {
            "error": {"message": text, "type": "invalid_request_error", "param": None, "code": "invalid_request_error"}
        }

    def refusal_of(self, messages: list[dict[str, Any]]) -> str:
        """Why a request is refused; empty for a valid one."""
        for position, message in enumerate(messages):
            if message["role"] == "assistant" and (reason := self.wrong_with(message, position)):
                return reason
        return ""

    def wrong_with(self, message: dict[str, Any], position: int) -> str:
        raise NotImplementedError

    def known(self, value: Any) -> bool:
        return not self.forgets and value in self.issued


class FakeGemini(SigningServer):
    """``tool_calls[].extra_content.google.thought_signature``, on the first call of each reply."""

    missing: ClassVar[str] = (
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
        "correctly, and missing "
        "thought_signature may lead to degraded model performance. Additional data, function call `default_api:x`, "
        "position 2."
    )

    def error(self, text: str) -> Any:
        return [{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}]

    def chunks(self, reply: Reply) -> Iterator[dict[str, Any]]:
        signed = False
        for chunk in super().chunks(reply):
            for call in chunk["choices"][0]["delta"].get("tool_calls", ()):
                if call.get("id") and not signed:
                    signed = True
                    self.issued.append(f"CiQB+{len(self.issued)}/é{'Zm9v' * 8}==")
                    call["extra_content"] = {"google": {"thought_signature": self.issued[-1]}}
            yield chunk

    def wrong_with(self, message: dict[str, Any], position: int) -> str:
        for number, call in enumerate(message.get("tool_calls") or ()):
            signature = call.get("extra_content", {}).get("google", {}).get("thought_signature")
            if signature is None and not number:
                return self.missing
            if signature is not None and not self.known(signature):
                return "Corrupted thought signature."
        return ""


class FakeOpenRouter(SigningServer):
    """``reasoning_details``: a text in pieces, its signature at the end, and an encrypted part."""

    def chunks(self, reply: Reply) -> Iterator[dict[str, Any]]:
        number = len(self.issued)
        text = {
            "type": "reasoning.text",
            "text": reply.reasoning,
            "format": "anthropic-claude-v1",
            "index": 0,
            "signature": f"sig{number}==",
        }
        hidden = {
            "type": "reasoning.encrypted",
            "data": f"gAAAA{number}",
            "id": f"rs_{number}",
            "format": "anthropic-claude-v1",
            "index": 1,
        }
        self.issued.append([text, hidden])
        first, *rest = super().chunks(Reply(text=reply.text, calls=reply.calls, pieces=reply.pieces, model=reply.model))
        yield first
        bare = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
        for piece in split(reply.reasoning, reply.pieces):
            yield chunk_of(reply, {"reasoning": piece, "reasoning_details": [{**bare, "text": piece}]})
        yield chunk_of(reply, {"reasoning_details": [{**bare, "signature": text["signature"]}]})
        yield chunk_of(reply, {"reasoning_details": [hidden]})
        yield from rest

    def finish_message(self, message: dict[str, Any]) -> None:
        message["reasoning_details"] = self.issued[-1]

    def wrong_with(self, message: dict[str, Any], position: int) -> str:
        details = message.get("reasoning_details")
        if details is None:
            found = "tool_use" if message.get("tool_calls") else ""
            return (
                f"messages.{position}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`."
                if found
                else ""
            )
        return "" if self.known(details) else f"messages.{position}.content.0: Invalid `signature` in `thinking` block"


class FakeDeepSeek(SigningServer):
    """``reasoning_content`` of every assistant message; may be empty for another model's message.

    Attributes:
        written: model, and text or call id, of its own replies.
    """

    def __init__(self) -> None:
        super().__init__()
        self.written: list[tuple[str, str]] = []

    def chunks(self, reply: Reply) -> Iterator[dict[str, Any]]:
        self.issued.append(reply.reasoning)
        self.written += [(self.model, key) for key in (reply.text, *(call.id for call in reply.calls)) if key]
        yield from super().chunks(reply)

    def wrong_with(self, message: dict[str, Any], position: int) -> str:
        text = message.get("reasoning_content")
        keys = (message["content"], *(call["id"] for call in message.get("tool_calls") or ()))
        own = any((self.model, key) in self.written for key in keys)
        if text is None or (text == "" and own and not self.forgets):
            return "The `reasoning_content` in the thinking mode must be passed back to the API."
        return "" if text == "" or self.known(text) else "Invalid `reasoning_content` in the assistant message."


SIGNING: dict[str, type[SigningServer]] = {"gemini": FakeGemini, "openrouter": FakeOpenRouter, "deepseek": FakeDeepSeek}
