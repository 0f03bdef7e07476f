"""Approvals through the local socket, as when the desktop holds the folder, with somebody else or nobody deciding."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.cli.data_folder_server import serving
from atelier_desk.cli.dispatch import execute
from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.approval import ApprovalFlags, ApprovalRequest, ApprovalSettings, ApprovalStatus, OnTimeout
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.ipc.client import find_holder
from atelier_desk.engine.ipc.resumable_command import Request
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from atelier_desk.llm.secrets import KeyVault
from tests.cli.scripted_tool_calls import calculate
from tests.engine.conftest import WordEmbedder
from tests.engine.ipc.conftest import RecordingTerminal
from tests.engine.ipc.conftest import datadir as short_datadir  # noqa: F401 - a fixture
from tests.helpers.manual_clock import ManualClock

AGENT = AgentConfig(name="Counter", provider="test", model="scripted", tools=("CalculatorTool",))


class Slow(RecordingTerminal):
    """A person who types only when the test says so; ``json`` shows every event."""

    def __init__(self, *, json: bool = True) -> None:
        super().__init__(interactive=True)
        self.json = json
        self.typed: asyncio.Queue[str | None] = asyncio.Queue()
        self.prompted: asyncio.Queue[str] = asyncio.Queue()

    async def ask(self, prompt: str) -> str | None:
        self.prompted.put_nowait(prompt)
        return await self.typed.get()

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for line in self.out.splitlines() if (event := json.loads(line))["chunk_type"] == kind]


Holder = Callable[..., AbstractAsyncContextManager[Atelier]]


@pytest.fixture
def holder(short_datadir: Any) -> Holder:  # noqa: F811
    """An open engine that serves other processes; the calculator needs approval."""

    @asynccontextmanager
    async def opened(
        steps: Sequence[Step] | ScriptedModel, *, clock: ManualClock | None = None, **approvals: Any
    ) -> AsyncIterator[Atelier]:
        model = steps if isinstance(steps, ScriptedModel) else ScriptedModel(steps)
        options: dict[str, Any] = {"clock": clock} if clock is not None else {}
        async with Atelier.open(
            Path(short_datadir.root),
            model_factory=lambda agent: model,
            embedder=WordEmbedder(),
            vault=KeyVault(environ={}),
            fsync=False,
            **options,
        ) as atelier:
            chosen = {"flags": ApprovalFlags(tools=True), "risks": {"CalculatorTool": "medium"}, **approvals}
            await atelier.settings.update(approvals=ApprovalSettings(**chosen))
            async with serving(atelier):
                yield atelier

    return opened


async def elsewhere(
    atelier: Atelier, terminal: RecordingTerminal, *argv: str, language: str = "", locale: str = ""
) -> int:
    """A command line in another process while this one holds the folder."""
    connection = await find_holder(Path(atelier.datadir.root))
    assert connection is not None
    try:
        return await connection.run_command(argv, terminal, Request(language=language, locale=locale))
    finally:
        connection.close()


async def asked_in(atelier: Atelier) -> ApprovalRequest:
    workflow = await atelier.workflows.create("w")
    run_id = await atelier.runs.send(workflow.id, "go", agent=AGENT)
    await atelier.runs.wait(run_id)
    [asked] = await atelier.approvals.pending()
    return asked


async def test_a_call_of_the_desktop_is_allowed_from_another_process(holder: Holder) -> None:
    async with holder([calculate("6*7"), "42"]) as atelier:
        asked = await asked_in(atelier)
        terminal = RecordingTerminal()
        assert await elsewhere(atelier, terminal, "approvals", "list") == 0
        assert asked.id in terminal.out
        assert await elsewhere(atelier, terminal, "approvals", "approve", asked.id) == 0
        assert (await atelier.runs.wait(asked.run_id)).status is RunStatus.COMPLETED
        assert await elsewhere(atelier, terminal, "approvals", "reject", asked.id) == 2


async def test_a_command_uses_its_own_language_not_that_of_the_holder(holder: Holder) -> None:
    async with holder(["hello"]) as atelier:
        said = {}
        for language in ("fr", "en", ""):
            terminal = RecordingTerminal()
            assert await elsewhere(atelier, terminal, "tasks", "list", language=language) == 0
            said[language] = terminal.out + str(terminal.notes)
        assert said["fr"] != said["en"] == said[""]
        terminal = RecordingTerminal()
        await elsewhere(atelier, terminal, "tasks", "list", locale="fr")
        assert terminal.out + str(terminal.notes) == said["fr"], "without one, that of the place where it was given"
        await atelier.settings.update(language="en")
        terminal = RecordingTerminal()
        await elsewhere(atelier, terminal, "tasks", "list", locale="fr")
        assert terminal.out + str(terminal.notes) == said["en"], "but for one that the owner chose"


async def test_a_run_of_another_process_asks_in_its_terminal(holder: Holder) -> None:
    async with holder([calculate("6*7"), "42"]) as atelier:
        terminal = Slow()
        terminal.typed.put_nowait("yes")
        assert await elsewhere(atelier, terminal, "run", "go", "--json") == 0
        assert terminal.events("workflow_complete")[-1]["status"] == "completed"


async def test_a_decision_made_elsewhere_closes_the_question_in_the_terminal(holder: Holder) -> None:
    model = ScriptedModel([calculate("6*7"), calculate("7*7", "c2"), "done"])
    async with holder(model) as atelier:
        terminal = Slow()
        run = asyncio.create_task(elsewhere(atelier, terminal, "run", "go", "--json"))
        await terminal.prompted.get()
        [asked] = await atelier.approvals.pending()
        await atelier.approvals.approve(asked.id)
        await terminal.prompted.get()
        terminal.typed.put_nowait("no")
        await terminal.prompted.get()
        terminal.typed.put_nowait("too many")
        assert await run == 0
        assert [each["status"] for each in terminal.events("validation_response")] == ["approved", "rejected"]
        assert "too many" in model.requests[-1].messages[-1].content


@pytest.mark.parametrize(
    ("rule", "status", "by"),
    [(OnTimeout.REJECT, ApprovalStatus.REJECTED, "timeout"), (OnTimeout.APPROVE, ApprovalStatus.APPROVED, "timeout")],
)
async def test_time_counts_while_the_terminal_asks(
    holder: Holder, clock: ManualClock, rule: OnTimeout, status: str, by: str
) -> None:
    async with holder([calculate("6*7"), "done"], clock=clock, timeout_s=30, on_timeout=rule) as atelier:
        terminal = Slow()
        run = asyncio.create_task(execute(atelier, ["run", "go", "--json"], terminal))
        await terminal.prompted.get()
        [asked] = await atelier.approvals.pending()
        while not run.done():
            await clock.advance(1)
            await asyncio.sleep(0)
        assert await run == 0
        decided = await atelier.approvals.get(asked.id)
        assert (decided.status, decided.decided_by) == (status, by)
        assert clock.monotonic() >= 30


async def test_waiting_without_a_terminal_uses_no_time(holder: Holder, clock: ManualClock) -> None:
    async with holder([calculate("6*7")], clock=clock, timeout_s=30) as atelier:
        assert await execute(atelier, ["run", "go"], RecordingTerminal()) == 5
        await clock.advance(3600)
        [asked] = await atelier.approvals.pending()
        assert (asked.status, asked.seen_ms) == (ApprovalStatus.PENDING, 0)
