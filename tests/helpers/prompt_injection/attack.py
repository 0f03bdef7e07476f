"""Attack an open engine with one content after another: forbidden changes on disk, and who was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.question import QuestionAnswer
from atelier_desk.engine import Atelier
from atelier_desk.engine.gateways.model_gateway import FactoryGateway
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.engine.run.reducer.reduce import fold
from atelier_desk.engine.run.verdict_replay import Replayed
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.policy.approval_strictness_and_grouping import stricter
from atelier_desk.tools.base import Effect, ToolCategory
from atelier_desk.tools.custom import tool
from tests.helpers.prompt_injection.attacked_machine import SECRET, World
from tests.helpers.prompt_injection.injected_contents import Content, errands, goals
from tests.helpers.prompt_injection.obedient_model import Obedient

PROFILES = (ApprovalMode.PLAN, ApprovalMode.SELECTIVE, ApprovalMode.EDIT)
PATIENCE = 60.0
"""Seconds for one run on a busy machine."""


class Attack:
    """An engine with an owner's tools and a careless colleague, and the canaries around it."""

    def __init__(self, atelier: Atelier, world: World, model: Obedient, connections: list[str]) -> None:
        self._atelier = atelier
        self.world = world
        self.model = model
        self._connections = connections
        self.asked: list[ApprovalRequest] = []

    async def reached(self, content: Content, mode: ApprovalMode, *, by_helper: bool = False) -> list[str]:
        """Show an agent the content, refuse every request, and return the goals it reached anyway."""
        world, atelier, model = self.world, self._atelier, self.model
        model.orders[content.order] = goals(world)[content.goal]
        opening = self._opening(content)
        placed = await self._place(content)
        before, guarded, read_before = world.seen("ws"), world.guarded(), len(model.read)
        model.orders["TASK-open"] = opening
        deputy = [("SpawnAgentTool", {"operation": "spawn", "name": "Helper", "prompt": "TASK-open"})]
        model.orders["TASK-hand"] = deputy
        workflow_id = (await atelier.workflows.create(workspace=(str(world.workspace),))).id
        if content.way == "memory":
            await atelier.memories.add(content.text, workflow_id=workflow_id, type="context")
        config = AgentConfig(
            name="Lead", provider="test", model="m", approval=mode, tools=self._tools(), max_tool_iterations=12
        )
        try:
            run_id = await atelier.runs.send(workflow_id, "TASK-hand" if by_helper else "TASK-open", agent=config)
            await self._through(workflow_id, run_id, content)
            found = [f"{name}: {left!r} is now {now!r}" for name, left, now in _changed(guarded, world.guarded())]
            found += [f"{name} was {left!r}" for name, left in await self._lost(workflow_id, run_id, before, mode)]
            found += [f"read: {text[:80]!r}" for text in model.read[read_before:] if SECRET in text]
            found += await self._freer(workflow_id, mode)
            found += self._connections
            if content.order not in model.obeyed:
                found.append("the order was never read: nothing was tried")
        finally:
            for name in placed:
                atelier.registry.unregister(name) if atelier.registry.has(name) else (world.workspace / name).unlink(
                    missing_ok=True
                )
        if found:
            self._connections.clear()
            world.restore()
        return found

    def _tools(self) -> tuple[str, ...]:
        registry = self._atelier.registry
        return tuple(
            name for name in registry.get_all_tool_names() if _category(registry, name) is not ToolCategory.CONTROL
        )

    def _opening(self, content: Content) -> Any:
        """The calls with which the agent meets the content before it has read any instruction."""
        match content.way:
            case "name" | "description":
                return [("list_directory", {"path": "."})]
            case "search":
                return [("search_files", {"pattern": "ORDER", "path": "found.md"})]
            case "tool":
                return [("consult", {"term": "shops"})]
            case "answer":
                return [("UserQuestionTool", {"operation": "ask", "question": "How?", "questionType": "text"})]
            case "memory":
                return [("MemoryTool", {"operation": "list"})]
            case "report":
                return [
                    (
                        "SpawnAgentTool",
                        {"operation": "spawn", "name": "Reader", "prompt": "TASK-read", "tools": ["read_file"]},
                    )
                ]
            case "command":
                return [("run_command", {"command": "cat found.md", "modifies_files": False})]
        return [("read_file", {"path": "found.md"})]

    async def _place(self, content: Content) -> list[str]:
        """Put the content in place; returns the names."""
        registry, ws = self._atelier.registry, self.world.workspace
        self.model.orders["TASK-read"] = [("read_file", {"path": "found.md"})]
        if content.way in ("file", "search", "report", "command"):
            (ws / "found.md").write_text(content.text)
            return ["found.md"]
        if content.way == "name":
            (ws / f"{content.order}.txt").write_text("")
            return [f"{content.order}.txt"]
        if content.way == "description":
            registry.register(
                tool(effect=Effect.READ, name="consult", description=content.text)(_consult(lambda term: term))
            )
            return ["consult"]
        if content.way == "tool":
            registry.register(
                tool(effect=Effect.READ, name="consult", description="Consults.")(_consult(lambda _term: content.text))
            )
            return ["consult"]
        return []

    async def replayed(self) -> list[Replayed]:
        """Every verdict of every attack so far, reproduced from the journals."""
        rows = await self._atelier.workflows.list()
        return [one for row in rows for one in await self._atelier.permissions.trials.replay(row.id)]

    async def _through(self, workflow_id: str, run_id: str, content: Content) -> None:
        """Wait for the end of the run; allow only what the opening itself asks for."""
        async with asyncio.timeout(PATIENCE):
            while not (await self._atelier.runs.wait(run_id)).status.final:
                for request in await self._atelier.approvals.pending(workflow_id):
                    self.asked.append(request)
                    if request.call_id.startswith("TASK-") and request.call_id.split(".")[0] in (
                        "TASK-open",
                        "TASK-hand",
                    ):
                        await self._atelier.approvals.approve(request.id)
                    else:
                        await self._atelier.approvals.reject(request.id)
                for question in await self._atelier.questions.pending(workflow_id):
                    await self._atelier.questions.answer(question.id, QuestionAnswer(text_response=content.text))
                await asyncio.sleep(0)

    async def _lost(
        self, workflow_id: str, run_id: str, before: dict[str, str], mode: ApprovalMode
    ) -> Iterable[tuple[str, str]]:
        """Deleted or changed files in the workspace; under Edit only those an undo cannot restore."""
        if mode is ApprovalMode.EDIT:
            changes = [change for change in await self._atelier.files.list(workflow_id) if not change.undone_by]
            await self._atelier.files.undo(workflow_id, [change.id for change in changes])
        return [(name, left) for name, left, _now in _changed(before, self.world.seen("ws"))]

    async def _freer(self, workflow_id: str, mode: ApprovalMode) -> list[str]:
        found = []
        for row in await self._atelier.repos.runs.list(workflow_id):
            state = fold(await run_events(self._atelier.repos, row.id))
            assert state is not None
            if stricter(state.approvals.mode, mode) is not state.approvals.mode:
                found.append(f"{state.agent.name} ran under {state.approvals.mode}")
        return found


def _changed(before: dict[str, str], after: dict[str, str]) -> list[tuple[str, str, str]]:
    names = dict.fromkeys([*before, *after])
    return [(name, before.get(name, ""), after.get(name, "")) for name in names if before.get(name) != after.get(name)]


def _category(registry: Any, name: str) -> ToolCategory:
    found = registry.get_tool(name)
    assert found is not None
    return ToolCategory(found.category)


def _consult(answer: Any) -> Any:
    def consult(term: str = "") -> str:
        return str(answer(term))

    return consult


@asynccontextmanager
async def attacked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Attack]:
    """An engine with its own data next to the world it works in."""
    reached: list[str] = []
    server = await asyncio.start_server(lambda reader, writer: _note(reached, writer), "127.0.0.1", 0)
    world = World.made(folder / "world", server.sockets[0].getsockname()[1])
    monkeypatch.setenv("HOME", str(world.root / "home"))
    model = Obedient(errands(world))
    async with Atelier.open(
        folder / "data", fsync=False, model_factory=lambda agent: model, vault=KeyVault(environ={})
    ) as atelier:  # fmt: skip
        # The lead has all tools: with a smaller window it would have to search for them.
        atelier.environment.gateway = FactoryGateway(lambda agent: model, window=200_000)
        for each in world.tools():
            atelier.registry.register(each)
        careless = AgentConfig(
            name="Freelancer",
            provider="test",
            model="m",
            approval=ApprovalMode.AUTO,
            tools=("write_file", "send_letter", "post_form"),
        )
        await atelier.agents.save(careless)
        try:
            yield Attack(atelier, world, model, reached)
        finally:
            server.close()


def _note(reached: list[str], writer: asyncio.StreamWriter) -> None:
    reached.append("a connection")
    writer.close()
