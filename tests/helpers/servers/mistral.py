"""Mistral's API, as strict as the real one about fields, call ids and the order of roles.

Stricter: a thinking model also refuses calls without their thinking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.helpers.servers.openai import FakeOpenAI, arguments_text, chunk_of, whole
from tests.helpers.servers.scripted_http_server import Failure, Reply, Request, Response, split
from tests.helpers.servers.thinking_check import Thoughts

# ChatCompletionRequest of the mistralai SDK 3.7.
FIELDS = frozenset(
    {
        "model",
        "messages",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "temperature",
        "top_p",
        "max_tokens",
        "stream",
        "stop",
    }
    | {
        "random_seed",
        "response_format",
        "presence_penalty",
        "frequency_penalty",
        "n",
        "reasoning_effort",
        "prompt_mode",
        "safe_prompt",
    }
    | {"metadata", "prompt_cache_key", "service_tier", "prediction", "guardrails"}
)
CALL_ID = re.compile(r"[a-zA-Z0-9]{9}")


class FakeMistral(FakeOpenAI):
    """Answers below ``/v1``.

    Attributes:
        object_arguments: send arguments as an object instead of text.
        listed_content: send content as a list of chunks, reasoning as ``thinking`` chunks; otherwise
            reasoning cannot be sent.
        thoughts: thinking sent so far.
    """

    def __init__(self) -> None:
        super().__init__()
        self.object_arguments = False
        self.listed_content = False
        self.dimension = 16
        self.thoughts = Thoughts()
        self.models = [
            model_entry("mistral-test"),
            model_entry("mistral-embed", chat=False),
            model_entry("mistral-ocr", chat=False),
        ]

    async def chat(self, request: Request, out: Response) -> None:
        refusal = refusal_of(request.json)
        if refusal is not None:
            await out.json(refusal[1], status=refusal[0])
            return
        model = request.json["model"]
        if request.json.get("reasoning_effort") != "none" and any(
            self._thoughtless(model, each) for each in request.json["messages"]
        ):
            await out.json(
                error_body("The thinking of an assistant message is missing or changed.", "invalid_request", "3051"),
                status=400,
            )
            return
        step = self.next_step()
        if isinstance(step, Reply) and self.listed_content:
            self.thoughts.note(model, step)
        if isinstance(step, Failure):
            await out.failure(step)
        elif step.raw is not None:
            await out.stream([step.raw], "text/event-stream", step)
        elif request.json.get("stream"):
            await out.stream(self.events(step, with_usage=False), "text/event-stream", step)
        else:
            await out.json(self.whole(step))

    def _thoughtless(self, model: str, message: dict[str, Any]) -> bool:
        content = message["content"] if isinstance(message["content"], list) else []
        thought = "".join(part["text"] for chunk in content for part in chunk.get("thinking", ()))
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ()]
        return self.thoughts.missing(model, calls, thought)

    def chunks(self, reply: Reply) -> Iterator[dict[str, Any]]:
        """Usage is in the last chunk; calls are sent complete."""
        yield chunk_of(reply, {"role": "assistant", "content": ""})
        for piece in split(reply.reasoning, reply.pieces) if self.listed_content else ():
            yield chunk_of(reply, {"content": [thinking(piece)]})
        for piece in split(reply.text, reply.pieces):
            yield chunk_of(reply, {"content": [{"type": "text", "text": piece}] if self.listed_content else piece})
        for index, call in enumerate(reply.calls):
            function = {
                "name": call.name,
                "arguments": call.arguments if self.object_arguments else arguments_text(call),
            }
            yield chunk_of(reply, {"tool_calls": [{"id": call.id or "null", "index": index, "function": function}]})
        if reply.finish is not None:
            last = chunk_of(
                reply, {"content": ""}, "tool_calls" if reply.calls and reply.finish == "stop" else reply.finish
            )
            yield {**last, "usage": reply.usage} if reply.usage else last

    def whole(self, reply: Reply) -> dict[str, Any]:
        answer = whole(reply)
        message = answer["choices"][0]["message"]
        message.pop("reasoning_content", None)
        if self.listed_content:
            message["content"] = [thinking(reply.reasoning), {"type": "text", "text": reply.text}]
        return answer


def thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], "closed": True}


def model_entry(name: str, *, chat: bool = True) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": 1,
        "owned_by": "mistralai",
        "name": name,
        "description": "",
        "max_context_length": 32768,
        "aliases": [],
        "deprecation": None,
        "type": "base",
        "capabilities": {
            "completion_chat": chat,
            "function_calling": chat,
            "vision": False,
            "completion_fim": False,
            "fine_tuning": False,
        },
    }


def refusal_of(body: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
    """Status and body of the refusal of an invalid request; None for a valid one."""
    unknown = sorted(set(body) - FIELDS)
    if unknown:
        items = [
            {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": 1}
            for name in unknown
        ]
        return 422, {"detail": items}
    previous = ""
    for position, message in enumerate(body["messages"]):
        role = message["role"]
        if role == "system" and position:
            return order_error(f"Unexpected role 'system' after role '{previous}'")
        if role == "tool" and previous not in ("assistant", "tool"):
            return order_error(f"Unexpected role 'tool' after role '{previous}'")
        if role == "user" and previous == "tool":
            return order_error("Unexpected role 'user' after role 'tool'")
        ids = [call["id"] for call in message.get("tool_calls") or ()] + (
            [message["tool_call_id"]] if role == "tool" else []
        )
        for id in ids:
            if not CALL_ID.fullmatch(id):
                text = f"Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."
                return 400, error_body(text, "invalid_function_call", "3280")
        previous = role
    if previous not in ("user", "tool"):
        return order_error(
            f"Expected last role User or Tool (or Assistant with prefix True) for serving but got {previous}"
        )
    return None


def order_error(text: str) -> tuple[int, dict[str, Any]]:
    return 400, error_body(text, "invalid_request_message_order", "3230")


def error_body(text: str, kind: str, code: str) -> dict[str, Any]:
    return {"object": "error", "message": text, "type": kind, "param": None, "code": code, "raw_status_code": 400}
