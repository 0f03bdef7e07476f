"""How often the guided starter model does what a prompt asks: ``python -m tests.bench.bench_starter_model_accuracy``.

A prompt counts as correct if the first call is the expected action with the expected argument (for small talk: no
call), and the answer after the tool's real result contains the required fact. Three sets of 40: the prompts the dialect
was built with (build), prompts by the same author written before the first rule (heldout), and prompts by someone who
had seen neither examples nor rules (fresh). The published figure is the last one; nothing is tuned on it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.model_messages import ChatMessage, ChatReply, ChatRequest, ReplyDone, Role
from atelier_desk.domain.provider import STARTER
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Workflow
from atelier_desk.knowledge.memory_search import MemorySearch
from atelier_desk.llm.embedders.builtin import BuiltinEmbedder
from atelier_desk.llm.guided import GuidedModel
from atelier_desk.llm.guided.actions import action_of
from atelier_desk.llm.guided.language_data import plain
from atelier_desk.llm.local.provider import LocalProvider
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from atelier_desk.tools.base import AskUser, ToolContext, ToolResult
from atelier_desk.tools.core.arithmetic_expression import evaluate
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.registry.tool_services import ToolServices

PROMPTS = Path(__file__).parent.parent / "llm" / "guided"
TOOLS = ["CalculatorTool", "TodoTool", "MemoryTool", "UserQuestionTool", "ReportTool"]
SPECS = create_default_tool_registry().get_definitions_by_names(TOOLS)
TOLERANCE = 0.01


class Bench:
    """Run prompts against the real starter model and the real tools."""

    def __init__(self, model: GuidedModel, registry: ToolRegistry, context: ToolContext, data: dict[str, Any]) -> None:
        self.model = model
        self.registry = registry
        self.context = context
        self.data = data
        self.stored: dict[str, Task] = {}

    async def seed(self) -> None:
        """The memories and tasks the prompts ask for."""
        for memory in self.data["memories"]:
            await self.tool("MemoryTool", {"operation": "add", "type": "knowledge", "content": memory})
        for task in self.data["tasks"]:
            await self.tool("TodoTool", {"operation": "create", "name": task})

    async def tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        outcome = await self.registry.execute(name, arguments, replace(self.context, call_id=new_id()))
        if isinstance(outcome, AskUser):
            return {
                "success": True,
                "selectedOptions": [option.id for option in outcome.question.options[:1]],
                "textResponse": "this one",
            }
        assert isinstance(outcome, ToolResult)
        self.stored |= {changed.task.id: changed.task for changed in outcome.tasks}
        return outcome.data

    async def tasks(self) -> dict[str, Task]:
        return self.stored

    async def reply(self, *messages: ChatMessage) -> ChatReply:
        tools = tuple(self.registry.get_definitions_by_names(TOOLS))
        request = ChatRequest(model=STARTER, messages=messages, tools=tools, temperature=0.0, max_tokens=200)
        async for delta in self.model.stream(request):
            if isinstance(delta, ReplyDone):
                return delta.reply
        raise AssertionError("the stream had no end")

    async def fault(self, prompt: dict[str, Any]) -> str:
        """Why the answer is wrong, or empty. A question that confirms a write is answered with yes."""
        messages = [ChatMessage(role=Role.USER, content=prompt["prompt"])]
        first = await self.reply(*messages)
        if _action(first) == "ask" and "ask" not in prompt["action"]:
            messages += _exchange(first, await self.tool(first.tool_calls[0].name, first.tool_calls[0].arguments))
            first = await self.reply(*messages)
        name = _action(first)
        if name not in prompt["action"]:
            return f"{name} {first.tool_calls[0].arguments if first.tool_calls else first.content!r}"
        if not first.tool_calls:
            return "" if first.content.strip() else "no answer"
        call = first.tool_calls[0]
        action = action_of(call, SPECS)
        if action is not None and (fault := _argument_fault(prompt, str(call.arguments.get(action.argument, "")))):
            return f"{fault}: {call.arguments}"
        messages += _exchange(first, await self.tool(call.name, call.arguments))
        answer = await self.reply(*messages)
        missing = [
            fact for fact in self.needed(prompt, name) if plain(fact).lower() not in plain(answer.content).lower()
        ]
        return f"answer {answer.content!r} lacks {missing}" if missing or answer.tool_calls else ""

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


def _action(reply: ChatReply) -> str:
    call = reply.tool_calls[0] if reply.tool_calls else None
    action = action_of(call, SPECS) if call else None
    return action.name if action else "chat"


def _exchange(reply: ChatReply, result: dict[str, Any]) -> list[ChatMessage]:
    call = reply.tool_calls[0]
    assistant = ChatMessage(role=Role.ASSISTANT, tool_calls=reply.tool_calls)
    content = json.dumps(result, ensure_ascii=False)
    return [assistant, ChatMessage(role=Role.TOOL, content=content, tool_call_id=call.id, name=call.name, success=True)]


async def measure(name: str, *, show: bool) -> tuple[int, int]:
    """Number of correct prompts in a file, and of all."""
    data = json.loads((PROMPTS / f"prompts_{name}.json").read_text("utf-8"))
    embedder, clock = BuiltinEmbedder(), SystemClock()
    with tempfile.TemporaryDirectory() as folder:
        provider = LocalProvider(Path(folder) / "models", clock)
        store = await Store.open(None, clock=clock)
        repos = Repositories(store, DataDir(Path(folder)))
        workflow = Workflow(name="Bench")
        await repos.workflows.create(workflow)
        context = ToolContext(
            workflow_id=workflow.id,
            run_id=new_id(),
            call_id="",
            tasks=lambda: bench.tasks(),
        )
        services = ToolServices(memories=repos.memories, memory_search=MemorySearch(repos.memories, embedder, clock))
        bench = Bench(GuidedModel(provider, embedder), create_default_tool_registry(services), context, data)
        try:
            await bench.seed()
            right = 0
            for prompt in data["prompts"]:
                fault = await bench.fault(prompt)
                right += not fault
                if fault and show:
                    print(f"  {prompt['prompt']!r}: wanted {prompt['action'][0]}, got {fault}")
        finally:
            await provider.aclose()
            await embedder.aclose()
            await store.close()
    return right, len(data["prompts"])


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the fresh prompts alone")
    parser.add_argument("--show", action="store_true", help="say what went wrong with the other prompts too")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    figures = {}
    for name in ("fresh",) if options.quick else ("build", "heldout", "fresh"):
        started = time.monotonic()
        right, total = await measure(name, show=name == "build" or options.show)
        seconds = (time.monotonic() - started) / total
        figures[name] = {
            "right": right,
            "total": total,
            "share": round(right / total, 3),
            "seconds_a_prompt": round(seconds, 2),
        }
        print(f"guided {name}: {right} of {total} right ({right / total:.0%}), {seconds:.2f} s a prompt")
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1), "utf-8")


if __name__ == "__main__":
    asyncio.run(main())
