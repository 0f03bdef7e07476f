"""The process that is killed while a team works: a root, its sub-agent, and that one's 8 sub-agents in parallel at
depth 2.

    python -m tests.chaos.team_worker DATA_DIR EFFECTS_FILE [FAULT_POINT COUNT]

Each of the 8 appends two lines to EFFECTS_FILE, not idempotently, creates a task in between, and reports. Every
durable event is acknowledged on standard output once it is committed.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.model_messages import ChatReply, ChatRequest, Role, ToolCall
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.secrets import KeyVault
from tests.chaos.run_worker import AppendLine, acknowledge, fault_at

WIDTH = 8
LINES = 2
TOOLS = ("append_line", "TodoTool", "SpawnAgentTool", "ParallelTasksTool")


def root(done: list[dict[str, Any]], prompt: str) -> ChatReply:
    if done:
        return ChatReply(content=done[-1]["report"])
    return calls("spawn", "SpawnAgentTool", operation="spawn", name="Captain", prompt="set sail")


def captain(done: list[dict[str, Any]], prompt: str) -> ChatReply:
    if done:
        return ChatReply(content=done[-1]["aggregated_report"])
    tasks = [{"agent_id": "Sailor", "prompt": str(number)} for number in range(WIDTH)]
    return calls("batch", "ParallelTasksTool", operation="execute_batch", tasks=tasks)


def sailor(done: list[dict[str, Any]], prompt: str) -> ChatReply:
    if len(done) > LINES:
        return ChatReply(content=f"sailor {prompt} is done")
    if len(done) == 1:
        return calls("task", "TodoTool", operation="create", name=f"task {prompt}")
    return calls(f"line-{len(done)}", "append_line", line=f"{prompt} line {len(done)}")


def calls(id: str, tool: str, /, **arguments: Any) -> ChatReply:
    return ChatReply(tool_calls=(ToolCall(id=id, name=tool, arguments=arguments),))


ROLES = {"Root": root, "Captain": captain, "Sailor": sailor}


class Model(ScriptedModel):
    """Replies depending on the results so far, so that a resumed run continues where it was."""

    def __init__(self, name: str) -> None:
        super().__init__([])
        self._role = ROLES[name]

    async def stream(self, request: ChatRequest) -> Any:
        done = [json.loads(message.content) for message in request.messages if message.role is Role.TOOL]
        prompt = next(message.content for message in request.messages if message.role is Role.USER)
        # Each request has its own script: several agents of one name ask at the same time.
        async for delta in ScriptedModel([self._role(done, prompt)]).stream(request):
            yield delta


def agent(name: str) -> AgentConfig:
    return AgentConfig(name=name, provider="local", model="scripted", tools=TOOLS, approval=ApprovalMode.AUTO)


async def main(data: Path, effects: Path, fault: Any) -> None:
    models = {name: Model(name) for name in ROLES}
    async with Atelier.open(
        data, model_factory=lambda config: models[config.name], vault=KeyVault(environ={}), fault=fault
    ) as atelier:
        atelier.registry.register(AppendLine(effects))
        atelier.bus.subscribe(acknowledge)
        if not any(each.name == "Sailor" for each in await atelier.agents.list()):
            await atelier.agents.save(agent("Sailor"))
        os.write(1, b"open\n")
        workflows = await atelier.workflows.list()
        if not workflows or workflows[0].head_run_id is None:
            workflow = workflows[0] if workflows else await atelier.workflows.create("chaos")
            await atelier.runs.wait(await atelier.runs.send(workflow.id, "set sail", agent=agent("Root")))
        else:
            await atelier.runs.recovery.resume_all()
            await atelier.runs.wait(workflows[0].head_run_id)
        workflow = (await atelier.workflows.list())[0]
        run = await atelier.repos.runs.get(workflow.head_run_id or "")
        os.write(1, f"status {run.status}\n".encode())


if __name__ == "__main__":
    point = fault_at(sys.argv[3], int(sys.argv[4])) if len(sys.argv) > 4 else None
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), point))
