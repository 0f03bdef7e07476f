"""The process that is killed while an MCP server waits for a person's answer: one run, one call, resumed until it
has ended.

    python -m tests.chaos.mcp_question_worker DATA_DIR EFFECTS_FILE [FAULT_POINT COUNT]

EFFECTS_FILE records the answers that the server got. If a file ``answer`` exists next to it, the question is
answered; otherwise the process waits to be killed.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.mcp import McpServer
from atelier_desk.domain.model_messages import ChatReply, ChatRequest, Role, ToolCall
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.secrets import KeyVault
from tests.chaos.run_worker import acknowledge, fault_at
from tests.helpers.forked_workers import ROOT
from tests.helpers.form_answers import form_answer

VALUES = {"name": "Ada", "seats": 2}


class Model(ScriptedModel):
    """Makes one call, then answers."""

    def __init__(self) -> None:
        super().__init__([])

    async def stream(self, request: ChatRequest) -> Any:
        called = any(message.role is Role.TOOL for message in request.messages)
        call = ToolCall(id="c1", name="mcp__asks__book", arguments={})
        self._steps = [ChatReply(content="Done.") if called else ChatReply(tool_calls=(call,))]
        async for delta in super().stream(request):
            yield delta


async def main(data: Path, effects: Path, fault: Any) -> None:
    agent = AgentConfig(
        name="Worker", provider="local", model="scripted", tools=(), mcp_servers=("asks",), approval=ApprovalMode.AUTO
    )
    model = Model()
    async with Atelier.open(data, model_factory=lambda _: model, vault=KeyVault(environ={}), fault=fault) as atelier:
        atelier.bus.subscribe(acknowledge)
        os.write(1, b"open\n")
        workflows = await atelier.workflows.list()
        if not workflows:
            command = ("-m", "tests.helpers.servers.mcp_elicitation_and_sampling", str(effects))
            await atelier.mcp.save(
                McpServer(name="asks", command=sys.executable, args=command, folder=str(ROOT)), new=True
            )
            assert (await atelier.mcp.test("asks")).ok
            workflow = await atelier.workflows.create("chaos")
            run_id = await atelier.runs.send(workflow.id, "book", agent=agent)
        else:
            run_id = workflows[0].head_run_id or ""
            await atelier.runs.recovery.resume_all()
        while not (await atelier.repos.runs.get(run_id)).status.final:
            pending = await atelier.questions.pending()
            if pending and effects.with_name("answer").exists():
                await atelier.questions.answer(pending[0].id, form_answer(VALUES))
            elif pending:
                os.write(1, f"waits {pending[0].id}\n".encode())
            await asyncio.sleep(0.05)
        os.write(1, f"status {(await atelier.repos.runs.get(run_id)).status}\n".encode())


if __name__ == "__main__":
    point = fault_at(sys.argv[3], int(sys.argv[4])) if len(sys.argv) > 4 else None
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), point))
