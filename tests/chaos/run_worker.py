"""The process that is killed: one run of 20 tool calls (or ``ATELIER_CALLS``), resumed until it has ended.

    python -m tests.chaos.run_worker DATA_DIR EFFECTS_FILE [FAULT_POINT COUNT]

Every durable event is acknowledged on standard output once it is committed; ``moving`` means that the log is being
moved into the tables, which ``ATELIER_LOG_BYTES`` makes more frequent. With a fault point the process kills itself
(SIGKILL) when that point is reached for the COUNT-th time. Half of the calls append a line to EFFECTS_FILE and are
not idempotent.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.model_messages import ChatReply, ChatRequest, Role, ToolCall
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.storage.writing import writer
from atelier_desk.tools.base import Effect, Input, Outcome, Tool, ToolContext, ToolResult

CALLS = int(os.environ.get("ATELIER_CALLS", "20"))
LOG_BYTES = int(os.environ.get("ATELIER_LOG_BYTES", "0"))
NAME = "chaos"
"""Name of the only workflow that the worker uses; a folder from the growth bench has others."""


class AppendLineInput(Input):
    line: str


class AppendLine(Tool):
    """Appends one line durably, so that a repetition is visible."""

    name: ClassVar[str] = "append_line"
    section: ClassVar[str] = "core_ops"
    effect: ClassVar[Effect] = Effect.WRITE
    input: ClassVar[Any] = AppendLineInput

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def description(self) -> str:
        return "Appends a line."

    async def run(self, input: Any, context: ToolContext) -> Outcome:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{input.line}\n")
            file.flush()
            os.fsync(file.fileno())
        return ToolResult.ok(line=input.line)


def scripted(request: ChatRequest) -> ChatReply:
    """The next call, depending on the number of results so far, so that a resumed run continues where it was."""
    done = sum(message.role is Role.TOOL for message in request.messages)
    if done >= CALLS:
        return ChatReply(content="All calls are done.")
    if done % 2 == 0:
        return ChatReply(
            tool_calls=(ToolCall(id=f"line-{done}", name="append_line", arguments={"line": f"line {done}"}),)
        )
    arguments = {"operation": "create", "name": f"task {done}"}
    return ChatReply(tool_calls=(ToolCall(id=f"task-{done}", name="TodoTool", arguments=arguments),))


class Model(ScriptedModel):
    """Answers by ``scripted`` endlessly."""

    def __init__(self) -> None:
        super().__init__([])

    async def stream(self, request: ChatRequest) -> Any:
        self._steps = [scripted(request)]
        async for delta in super().stream(request):
            yield delta


def fault_at(point: str, count: int) -> Any:
    seen = 0

    def fault(reached: str) -> None:
        nonlocal seen
        if reached == point:
            seen += 1
            if seen == count:
                os.kill(os.getpid(), signal.SIGKILL)

    return fault


def acknowledge(event: StreamEvent) -> None:
    if event.durable:
        os.write(1, f"ack {event.seq} {event.chunk_type}\n".encode())


class PrintsMoves(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if record.msg.startswith("moving"):
            os.write(1, b"moving\n")


def listen_to_moves() -> None:
    """Print each move of the log, which happens after the number of bytes in ``ATELIER_LOG_BYTES``."""
    if LOG_BYTES:
        writer.LOG_MAX_BYTES = writer.LOG_CAP_BYTES = LOG_BYTES
    logger = logging.getLogger(writer.__name__)
    logger.setLevel(logging.INFO)
    logger.addHandler(PrintsMoves())


async def main(data: Path, effects: Path, fault: Any) -> None:
    agent = AgentConfig(name="Worker", provider="local", model="scripted", tools=("append_line", "TodoTool"))
    model, began = Model(), time.monotonic()
    async with Atelier.open(data, model_factory=lambda _: model, vault=KeyVault(environ={}), fault=fault) as atelier:
        atelier.registry.register(AppendLine(effects))
        atelier.bus.subscribe(acknowledge)
        os.write(1, f"open\nseconds {time.monotonic() - began:.3f}\n".encode())
        workflows = [each for each in await atelier.workflows.list(limit=1) if each.name == NAME]
        if not workflows or workflows[0].head_run_id is None:
            workflow = workflows[0] if workflows else await atelier.workflows.create(NAME)
            await atelier.runs.wait(await atelier.runs.send(workflow.id, "make twenty calls", agent=agent))
        else:
            for run_id in await atelier.runs.recovery.resume_all():
                await atelier.runs.wait(run_id)
        workflow = (await atelier.workflows.list())[0]
        run = await atelier.repos.runs.get(workflow.head_run_id or "")
        os.write(1, f"status {run.status}\n".encode())


if __name__ == "__main__":
    point = fault_at(sys.argv[3], int(sys.argv[4])) if len(sys.argv) > 4 else None
    listen_to_moves()
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), point))
