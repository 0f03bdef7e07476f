"""Background commands in the window: announced, listed, ended."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.errors import LimitError, NotFoundError
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.engine import Atelier
from atelier_desk.presentation.call_failure_text import explain
from atelier_desk.tools.base import ToolContext, ToolResult
from tests.engine.conftest import Opener
from tests.helpers.tool_calls import tool_call


async def run_command(atelier: Atelier, call: Mapping[str, object], context: ToolContext) -> ToolResult:
    result = await atelier.registry.execute("run_command", call, context)
    assert isinstance(result, ToolResult)
    return result


async def test_a_command_is_listed_until_it_is_stopped(open_atelier: Opener, tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "serve.sh").write_text("echo ready; sleep 60\n")
    async with open_atelier() as atelier:
        told: list[str] = []
        atelier.bus.on_changed(lambda topic, key: told.append(key) if topic == "command" else None)
        context = ToolContext(workflow_id="w", run_id="r", call_id="c", workspace=root)
        assert await atelier.commands.list("w") == []
        call = {"command": "bash serve.sh", "modifies_files": False, "background": True}
        started = await run_command(atelier, call, context)
        async with asyncio.timeout(20):
            while "ready" not in (listed := await atelier.commands.list("w"))[0].output:
                await asyncio.sleep(0.02)
        assert [each.line for each in listed] == ["bash serve.sh"]
        assert started.data["command_id"] == listed[0].id
        assert await atelier.commands.list("other") == []
        with pytest.raises(NotFoundError):
            await atelier.commands.stop("other", listed[0].id)
        await atelier.commands.stop("w", listed[0].id)
        assert await atelier.commands.list("w") == []
        async with asyncio.timeout(20):
            while told != ["w", "w"]:
                await asyncio.sleep(0.02)
        with pytest.raises(NotFoundError):
            await atelier.commands.stop("w", listed[0].id)


async def test_the_command_of_a_call_is_stopped_and_its_agent_is_told(open_atelier: Opener, tmp_path: Path) -> None:
    (tmp_path / "wait.sh").write_text("echo ready; sleep 60\n")
    async with open_atelier() as atelier:
        said: list[str] = []
        ids = {"workflow_id": "w", "run_id": "r", "call_id": "c"}
        context = ToolContext(
            workflow_id="w",
            run_id="r",
            call_id="c",
            workspace=tmp_path,
            progress=lambda _percent, text: said.append(text),
        )
        call = {"command": "bash wait.sh", "modifies_files": False}
        running = asyncio.create_task(run_command(atelier, call, context))
        async with asyncio.timeout(20):
            while "ready" not in said:
                await asyncio.sleep(0.02)
        for other in ids:
            with pytest.raises(NotFoundError):
                await atelier.commands.stop_call(**{**ids, other: "other"})
        await atelier.commands.stop_call(**ids)
        async with asyncio.timeout(20):
            result = await running
        assert not result.success
        assert "The user stopped it" in str(result.data["error"])
        assert "ready" in result.data["output"]
        with pytest.raises(NotFoundError):
            await atelier.commands.stop_call(**ids)


async def test_a_person_writes_to_a_background_command(open_atelier: Opener, tmp_path: Path) -> None:
    (tmp_path / "ask.sh").write_text('echo ready; read answer; echo "got $answer"; sleep 60\n')
    async with open_atelier() as atelier:
        context = ToolContext(workflow_id="w", run_id="r", call_id="c", workspace=tmp_path)
        call = {"command": "bash ask.sh", "modifies_files": False, "background": True}
        started = await run_command(atelier, call, context)
        command_id = started.data["command_id"]
        with pytest.raises(NotFoundError):
            await atelier.commands.input("other", command_id, "no\n")
        with pytest.raises(LimitError):
            await atelier.commands.input("w", command_id, "x" * 10_001)
        await atelier.commands.input("w", command_id, "yes\n")
        async with asyncio.timeout(20):
            while "got yes" not in (await atelier.commands.list("w"))[0].output:
                await asyncio.sleep(0.02)
        await atelier.commands.stop("w", command_id)
        with pytest.raises(NotFoundError):
            await atelier.commands.input("w", command_id, "late\n")


@pytest.mark.parametrize("whole", [False, True])
async def test_a_command_stopped_by_a_person_is_shown_as_stopped_with_its_duration(
    open_atelier: Opener, tmp_path: Path, whole: bool
) -> None:
    (folder := tmp_path / "work").mkdir()
    (folder / "wait.sh").write_text("echo ready; sleep 60\n")
    call = tool_call("run_command", command="bash wait.sh", modifies_files=False)
    agent = AgentConfig(name="A", provider="p", model="m", tools=("run_command",), approval=ApprovalMode.AUTO)
    async with open_atelier([[call], "done"]) as atelier:
        await atelier.permissions.add(PermissionRule(text="run_command", action=Action.ALLOW))
        workflow = await atelier.workflows.create("W", workspace=(str(folder),))
        ends: list[payloads.ToolEnd] = []
        begun = asyncio.Event()

        def told(event: StreamEvent) -> None:
            if isinstance(event.payload, payloads.ToolEnd):
                ends.append(event.payload)
            if isinstance(event.payload, payloads.ToolProgress) and "ready" in event.payload.content:
                begun.set()

        atelier.bus.subscribe(told, workflow.id)
        run_id = await atelier.runs.send(workflow.id, "go", agent=agent)
        async with asyncio.timeout(20):
            while not begun.is_set():
                for asked in await atelier.approvals.pending():
                    await atelier.approvals.approve(asked.id)
                await asyncio.sleep(0.02)
        if whole:
            await atelier.runs.cancel(run_id)
        else:
            await atelier.commands.stop_call(workflow.id, run_id, "c")
        await atelier.runs.wait(run_id)
        [end] = ends
        assert (end.status, end.success, end.result["ended_by"]) == ("cancelled", False, "user")
        assert end.duration_ms > 0
        assert explain("Run a command", end.result, end.error) == "Stopped by you."
