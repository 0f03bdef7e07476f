"""How often the guided starter model does what a prompt asks, from end to end: ``python -m tests.bench.bench_guided``.

A prompt is right when the first call is the expected action with the expected argument (for small talk: no call), and the answer after the
tool's real or simulated result holds the needed fact. Two figures: the prompts the dialect was built with, and the ones apart, which
were written first and never tuned on; the second is the figure.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from app.domain.chat import ChatMessage, ChatReply, ChatRequest, ReplyDone, Role, ToolCall, ToolSpec
from app.domain.clock import SystemClock
from app.llm.embedders.builtin import BuiltinEmbedder
from app.llm.guided import GuidedModel
from app.llm.guided.actions import action_of
from app.llm.guided.language import plain
from app.llm.local.models import STARTER
from app.llm.local.provider import LocalProvider
from app.tools.core.expression import evaluate

PROMPTS = Path(__file__).parent.parent / "llm" / "guided"
TOOLS = tuple(
    ToolSpec(name=name, description=name, parameters={"type": "object"})
    for name in ("CalculatorTool", "TodoTool", "MemoryTool", "UserQuestionTool", "ReportTool")
)
TOLERANCE = 0.01


class Bench:
    """Runs prompts against the real starter."""

    def __init__(self, model: GuidedModel, embedder: BuiltinEmbedder, data: dict[str, Any]) -> None:
        self.model = model
        self.embedder = embedder
        self.data = data

    async def reply(self, *messages: ChatMessage) -> ChatReply:
        request = ChatRequest(model=STARTER, messages=messages, tools=TOOLS, temperature=0.0, max_tokens=200)
        async for delta in self.model.stream(request):
            if isinstance(delta, ReplyDone):
                return delta.reply
        raise AssertionError("the stream had no end")

    async def fault(self, prompt: dict[str, Any]) -> str:
        """What went wrong, empty when nothing did."""
        user = ChatMessage(role=Role.USER, content=prompt["prompt"])
        first = await self.reply(user)
        call = first.tool_calls[0] if first.tool_calls else None
        action = action_of(call.name, call.arguments) if call else None
        name = action.name if action else "chat"
        messages = [user]
        if call is not None and name == "ask" and "ask" not in prompt["action"]:
            messages += _exchange(first, {"success": True, "selectedOptions": ["1"], "textResponse": ""})
            first = await self.reply(*messages)
            call = first.tool_calls[0] if first.tool_calls else None
            action = action_of(call.name, call.arguments) if call else None
            name = action.name if action else "chat"
        if name not in prompt["action"]:
            return f"{name} {call.arguments if call else first.content!r}"
        if call is None or action is None:
            return "" if first.content.strip() else "no answer"
        if fault := _argument_fault(prompt, str(call.arguments.get(action.argument, ""))):
            return f"{fault}: {call.arguments}"
        messages += _exchange(first, await self.result(call, name))
        answer = await self.reply(*messages)
        missing = [fact for fact in self.needed(prompt, name) if plain(fact).lower() not in plain(answer.content).lower()]
        return f"answer {answer.content!r} lacks {missing}" if missing or answer.tool_calls else ""

    async def result(self, call: ToolCall, name: str) -> dict[str, Any]:
        if name == "calculate":
            return {"success": True, "result": evaluate(call.arguments["expression"]), "expression": call.arguments["expression"]}
        if name == "list":
            return {"success": True, "tasks": [{"id": task, "name": task, "status": "pending"} for task in self.data["tasks"]]}
        if name == "recall":
            memories = self.data["memories"]
            vectors = await self.embedder.embed([*memories, call.arguments["query"]])
            order = (vectors[:-1] @ vectors[-1]).argsort()[::-1]
            return {"success": True, "results": [{"content": memories[int(index)]} for index in order[:5]]}
        if name == "ask":
            return {"success": True, "selectedOptions": ["1"] if call.arguments.get("options") else [], "textResponse": "this one"}
        return {"success": True, "task_id": "1", "message": "done"}

    def needed(self, prompt: dict[str, Any], name: str) -> list[str]:
        if name == "calculate":
            value = f"{prompt['value']:g}"
            return [value.replace(".", ",") if prompt["language"] == "fr" else value]
        if name == "list":
            return list(self.data["tasks"])
        if name in ("add", "remember"):
            return list(prompt["words"])
        return list(prompt.get("answer", []))


def _argument_fault(prompt: dict[str, Any], argument: str) -> str:
    if "value" in prompt:
        try:
            value = evaluate(argument)
        except Exception as error:
            return f"not an expression ({error})"
        return "" if isinstance(value, (int, float)) and abs(value - prompt["value"]) < TOLERANCE else f"value {value}"
    text = plain(argument).lower()
    for word in prompt.get("words", []):
        if plain(word).lower() not in text:
            return f"argument lacks {word!r}"
    for word in prompt.get("without", []):
        if plain(word).lower() in text:
            return f"argument has {word!r}"
    return ""


def _exchange(reply: ChatReply, result: dict[str, Any]) -> list[ChatMessage]:
    call = reply.tool_calls[0]
    assistant = ChatMessage(role=Role.ASSISTANT, tool_calls=reply.tool_calls)
    content = json.dumps(result, ensure_ascii=False)
    return [assistant, ChatMessage(role=Role.TOOL, content=content, tool_call_id=call.id, name=call.name, success=True)]


async def measure(name: str, *, show: bool) -> tuple[int, int]:
    """How many prompts of a file are right, of how many."""
    data = json.loads((PROMPTS / f"prompts_{name}.json").read_text("utf-8"))
    embedder = BuiltinEmbedder()
    with tempfile.TemporaryDirectory() as folder:
        provider = LocalProvider(Path(folder), SystemClock())
        bench = Bench(GuidedModel(provider, embedder), embedder, data)
        try:
            right = 0
            for prompt in data["prompts"]:
                fault = await bench.fault(prompt)
                right += not fault
                if fault and show:
                    print(f"  {prompt['prompt']!r}: wanted {prompt['action'][0]}, got {fault}")
        finally:
            await provider.aclose()
            await embedder.aclose()
    return right, len(data["prompts"])


async def main() -> None:
    names = [name for name in ("build", "heldout") if name in sys.argv[1:]] or ["build", "heldout"]
    for name in names:
        started = time.monotonic()
        right, total = await measure(name, show=name == "build" or "--show" in sys.argv)
        seconds = time.monotonic() - started
        print(f"guided {name}: {right} of {total} right ({right / total:.0%}), {seconds / total:.2f} s a prompt")


if __name__ == "__main__":
    asyncio.run(main())
