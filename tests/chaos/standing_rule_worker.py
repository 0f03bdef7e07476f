"""The process that is killed while a standing rule is stored: one call, allowed from now on, resumed until it has
ended.

    python -m tests.chaos.standing_rule_worker DATA_DIR EFFECTS_FILE [FAULT_POINT COUNT]

It prints ``torn`` when the rule was stored without the decision it came with, or the decision without the rule.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalScope, ApprovalSettings, ApprovalStatus
from atelier_desk.domain.model_messages import ChatReply, ChatRequest, Role, ToolCall
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from atelier_desk.llm.secrets import KeyVault
from tests.chaos.run_worker import AppendLine, acknowledge, fault_at

AGENT = AgentConfig(
    name="Worker", provider="local", model="scripted", tools=("append_line",), approval=ApprovalMode.MANUAL
)


def answer(request: ChatRequest) -> Step:
    if any(message.role is Role.TOOL for message in request.messages):
        return ChatReply(content="Done.")
    return [ToolCall(id="line", name="append_line", arguments={"line": "once"})]


async def main(data: Path, effects: Path, fault: Any) -> None:
    model = ScriptedModel([answer, answer])
    async with Atelier.open(data, model_factory=lambda _: model, vault=KeyVault(environ={}), fault=fault) as atelier:
        atelier.registry.register(AppendLine(effects))
        atelier.bus.subscribe(acknowledge)
        os.write(1, b"open\n")
        await atelier.settings.update(approvals=ApprovalSettings(auto_approve_low=False))
        found = await atelier.workflows.list()
        workflow = found[0] if found else await atelier.workflows.create("chaos")
        run_id = workflow.head_run_id or await atelier.runs.send(workflow.id, "write", agent=AGENT)
        await atelier.runs.recovery.resume_all()
        await atelier.runs.wait(run_id)
        asked = await atelier.approvals.list(workflow.id)
        decided = [request for request in asked if request.status is ApprovalStatus.APPROVED]
        if len(decided) != len(await atelier.permissions.rules()):
            os.write(1, b"status torn\n")
            return
        for request in await atelier.approvals.pending():
            await atelier.approvals.approve(request.id, scope=ApprovalScope.ALWAYS)
        run = await atelier.runs.wait(run_id)
        os.write(1, f"status {run.status if run.status is RunStatus.COMPLETED else 'open'}\n".encode())


if __name__ == "__main__":
    point = fault_at(sys.argv[3], int(sys.argv[4])) if len(sys.argv) > 4 else None
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), point))
