"""A run requested while its start is being committed is that run, and gets one driver."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.events.run import EventBody, RunFinished, RunStarted
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal import conversation_before_run
from atelier_desk.engine.journal.journal import RunHandle
from atelier_desk.engine.run.driver import Driver
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.runs.concurrent_team_slots import Slots
from atelier_desk.engine.team.sub_agent_runs import Teams
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.storage.writing.journal_commit import Commit
from tests.engine.conftest import Opener, completed
from tests.engine.runs.commit_gate import bodies
from tests.engine.runs.sample_runs import agent
from tests.engine.team.conftest import Cast, begin, spawn, team_rows
from tests.helpers.scripted_teams import calculate


class Acknowledgement:
    """Holds the first commit that starts an agent's run when it is on the disk but its writer does not know yet."""

    def __init__(self, atelier: Atelier, agent: str) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()
        self._commit = atelier.repos.journal.commit
        self._agent = agent
        atelier.repos.journal.commit = self.commit  # type: ignore[method-assign]

    async def commit(self, commit: Commit) -> None:
        await self._commit(commit)
        if not self.reached.is_set() and any(self._begins(event.body) for event in commit.events):
            self.reached.set()
            await self.open.wait()

    def _begins(self, body: EventBody) -> bool:
        return isinstance(body, RunStarted) and body.agent.name == self._agent


async def waited_for(atelier: Atelier, workflow_id: str, run_id: str) -> None:
    await completed(atelier, run_id)


async def read_what_waits(atelier: Atelier, workflow_id: str, run_id: str) -> None:
    assert await atelier.runs.waiting.list(workflow_id) == ()


async def resumed(atelier: Atelier, workflow_id: str, run_id: str) -> None:
    with pytest.raises(ConflictError):  # it is active already
        await atelier.runs.steering.resume(run_id)


@pytest.fixture
def driven(monkeypatch: pytest.MonkeyPatch) -> list[RunHandle]:
    """The runs that got a driver, once for each driver."""
    handles: list[RunHandle] = []

    def driver(env: RunEnvironment, handle: RunHandle, teams: Teams, slots: Slots) -> Driver:
        handles.append(handle)
        return Driver(env, handle, teams, slots)

    monkeypatch.setattr("atelier_desk.engine.runs.live_runs.Driver", driver)
    return handles


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("ask_for", [waited_for, read_what_waits, resumed])
async def test_run_that_is_asked_for_while_its_start_is_committed_has_one_driver(
    open_atelier: Opener,
    monkeypatch: pytest.MonkeyPatch,
    driven: list[RunHandle],
    ask_for: Callable[[Atelier, str, str], Awaitable[None]],
    late: bool,
) -> None:
    sent = asyncio.Event()

    async def load(*arguments: Any) -> RunHandle:
        handle = await conversation_before_run.load(*arguments)
        if late:
            await sent.wait()
        return handle

    monkeypatch.setattr(
        "atelier_desk.engine.runs.live_runs.conversation_before_run",
        SimpleNamespace(load=load, Conversations=conversation_before_run.Conversations),
    )
    model = ScriptedModel([[calculate("c1", "2*3")], "It is 6.", "never"])
    async with open_atelier(model) as atelier, asyncio.timeout(20):
        workflow = await atelier.workflows.create()
        gate = Acknowledgement(atelier, "Tester")
        sending = asyncio.create_task(atelier.runs.send(workflow.id, "hello", agent=agent()))
        await gate.reached.wait()
        run_id = (await atelier.repos.workflows.get(workflow.id)).head_run_id
        assert run_id is not None
        asking = asyncio.ensure_future(ask_for(atelier, workflow.id, run_id))
        # The request gets as far as it can: it would have read the journal by now.
        for _look in range(20):
            await atelier.repos.journal.events(run_id)
        gate.open.set()
        assert await sending == run_id
        sent.set()
        await asking
        run = await atelier.runs.wait(run_id)
        assert (run.status, len(model.requests)) == (RunStatus.COMPLETED, 2)
        assert [id(handle) for handle in driven] == [id(atelier.runs.state_of(run_id))]
        assert [type(body) for body in await bodies(atelier, run_id)].count(RunFinished) == 1


async def test_sub_agent_that_is_asked_for_while_its_start_is_committed_has_one_driver(
    open_atelier: Opener, driven: list[RunHandle]
) -> None:
    cast = Cast(Lead=[[spawn()], "done"], Helper=["a report"])
    async with open_atelier(cast) as atelier, asyncio.timeout(20):
        gate = Acknowledgement(atelier, "Helper")
        workflow_id, run_id = await begin(atelier)
        await gate.reached.wait()
        child = (await team_rows(atelier, workflow_id))["Helper"]
        asking = asyncio.create_task(resumed(atelier, workflow_id, child.id))
        for _look in range(20):
            await atelier.repos.journal.events(child.id)
        gate.open.set()
        await asking
        await completed(atelier, run_id)
        assert len([handle for handle in driven if handle.run_id == child.id]) == 1
    cast.complete()
