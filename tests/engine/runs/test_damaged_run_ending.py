"""A person can end a run whose events are missing or damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import MessageRole, RunStatus, WorkflowStatus
from atelier_desk.engine import Atelier
from atelier_desk.storage.repositories.usage_totals import UsageRecord
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.store import Statement
from atelier_desk.storage.writing.sent_request_keys import OWN, SentKey
from tests.engine.conftest import Opener, Recorder, completed, month_cost, send_and_wait, status_after
from tests.helpers.manual_clock import ManualClock
from tests.helpers.runs_without_driver import agent
from tests.helpers.scripted_teams import ask_user, leader, scripts, spawn
from tests.helpers.tool_calls import tool_call

ASKED = AgentConfig(
    name="A", provider="p", model="m", tools=("write_file", "UserQuestionTool"), approval=ApprovalMode.MANUAL
)
WAITS = {
    "question": [ask_user("q", "Red or blue?")],
    "approval": [tool_call("write_file", "t", path="a.txt", content="blue")],
}
DAMAGE = {
    "all lost": "DELETE run_event WHERE run = $run",
    "first lost": "DELETE run_event WHERE run = $run AND seq = 1",
    "one lost": "DELETE run_event WHERE run = $run AND type = 'model_replied'",
    "last lost": "DELETE run_event WHERE run = $run AND seq = (SELECT VALUE last_seq FROM ONLY $run)",
    "changed": "UPDATE run_event SET body = '{}' WHERE run = $run AND type = 'model_replied'",
    "unknown": "DELETE run_event WHERE run = $run; UPDATE $run SET last_hash = NONE",
}


async def damaged(open_atelier: Opener, folder: Path, waits: str, damage: str) -> tuple[str, str]:
    """A workflow and its waiting run, whose journal is damaged while the program is closed."""
    async with open_atelier([WAITS[waits]]) as atelier:
        workflow = await atelier.workflows.create("broken", workspace=(str(folder),))
        run_id = await atelier.runs.send(workflow.id, "Paint it.", agent=ASKED)
        assert not (await status_after(atelier, run_id)).final
        assert len(await atelier.questions.pending()) + len(await atelier.approvals.pending()) == 1
        for sql in DAMAGE[damage].split("; "):
            await atelier.repos.store.write(Statement(sql, {"run": record("run", run_id)}))
    return workflow.id, run_id


async def over(atelier: Atelier, workflow_id: str, run_id: str) -> None:
    row = await atelier.repos.runs.get(run_id)
    assert row.status is RunStatus.CANCELLED
    assert not await atelier.repos.runs.alive()
    assert not await atelier.questions.pending()
    assert not await atelier.approvals.pending()
    assert atelier.runs.live.alive.get(workflow_id) is None


@pytest.mark.parametrize("waits", WAITS)
@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_run_without_its_events_is_ended_and_the_workflow_continues(
    open_atelier: Opener, tmp_path: Path, damage: str, waits: str
) -> None:
    workflow_id, run_id = await damaged(open_atelier, tmp_path, waits, damage)
    async with open_atelier(["Blue it is."]) as atelier:
        seen = Recorder(atelier)
        with pytest.raises(StorageError, match=r"is missing|is damaged"):
            await atelier.runs.steering.resume(run_id)
        await atelier.workflows.stop(workflow_id)
        await over(atelier, workflow_id, run_id)
        await seen.until(ChunkType.WORKFLOW_COMPLETE, status="cancelled")
        row = await atelier.workflows.get(workflow_id)
        assert (row.status, row.pending_questions, row.pending_approvals) == (WorkflowStatus.IDLE, 0, 0)
        opened = await atelier.workflows.opened(workflow_id)
        assert [each.message.content for each in opened.entries if each.message.role is MessageRole.USER] == [
            "Paint it."
        ], "it stays"
        assert "damaged" in opened.entries[-1].message.content
        next_ = await atelier.runs.send(workflow_id, "Then blue.", agent=ASKED)
        await completed(atelier, next_)
    async with open_atelier(["Yes."]) as atelier:
        again = await atelier.runs.send(workflow_id, "Sure?", agent=ASKED)
        await completed(atelier, again)


async def test_its_workflow_is_deleted_restored_and_permanently_deleted(open_atelier: Opener, tmp_path: Path) -> None:
    workflow_id, run_id = await damaged(open_atelier, tmp_path, "question", "all lost")
    async with open_atelier([]) as atelier:
        await atelier.workflows.delete(workflow_id)
        await over(atelier, workflow_id, run_id)
        assert (await atelier.workflows.undo_delete(workflow_id)).id == workflow_id
        await atelier.workflows.purge(workflow_id)
        assert not await atelier.workflows.list()


@pytest.mark.parametrize("broken", ["Boss", "Helper"])
async def test_a_team_with_a_broken_run_is_ended_completely(open_atelier: Opener, broken: str) -> None:
    models = scripts(Boss=[[spawn("s", "Helper", "Ask.")]] * 9, Helper=[[ask_user("q", "Which?")]] * 9)
    async with open_atelier(models) as atelier:
        workflow = await atelier.workflows.create("team")
        run_id = await send_and_wait(atelier, workflow.id, "go", agent=leader(name="Boss"))
        rows = {row.agent_name: row for row in await atelier.repos.runs.list(workflow.id)}
        assert [asked.run_id for asked in await atelier.questions.pending()] == [rows["Helper"].id]
        await atelier.repos.store.write(Statement(DAMAGE["all lost"], {"run": record("run", rows[broken].id)}))
    async with open_atelier(models) as atelier:
        await atelier.workflows.stop(workflow.id)
        await over(atelier, workflow.id, run_id)


async def test_a_run_that_was_stopped_stays_in_the_conversation(open_atelier: Opener) -> None:
    async with open_atelier([[ask_user("q", "Which?")]]) as atelier:
        workflow = await atelier.workflows.create("whole")
        run_id = await send_and_wait(atelier, workflow.id, "Paint it.", agent=agent(tools=("UserQuestionTool",)))
        await atelier.runs.cancel(run_id)
        row = await atelier.repos.runs.get(run_id)
        assert (row.status, row.unread) == (RunStatus.CANCELLED, False)


async def test_the_parent_of_a_stopped_broken_sub_agent_continues(open_atelier: Opener) -> None:
    models = scripts(Boss=[[spawn("s", "Helper", "Ask.")], "Then without it."], Helper=[[ask_user("q", "Which?")]])
    async with open_atelier(models) as atelier:
        workflow = await atelier.workflows.create("team")
        run_id = await send_and_wait(atelier, workflow.id, "go", agent=leader(name="Boss"))
        (asked,) = await atelier.questions.pending()
        await atelier.repos.store.write(Statement(DAMAGE["all lost"], {"run": record("run", asked.run_id)}))
    async with open_atelier(scripts(Boss=["Then without it."])) as atelier:
        await atelier.runs.cancel(asked.run_id)
        assert not await atelier.questions.pending()
        row = await atelier.runs.wait(run_id)
        assert row.status is RunStatus.COMPLETED
        handle = atelier.runs.state_of(run_id)
        assert handle is not None
        assert not handle.current.working_children


async def test_a_sub_agent_ends_although_its_parent_cannot_be_read(open_atelier: Opener) -> None:
    models = scripts(Boss=[[spawn("s", "Helper", "Ask.")]], Helper=[[ask_user("q", "Which?")]])
    async with open_atelier(models) as atelier:
        workflow = await atelier.workflows.create("team")
        run_id = await send_and_wait(atelier, workflow.id, "go", agent=leader(name="Boss"))
        (asked,) = await atelier.questions.pending()
        await atelier.repos.store.write(Statement(DAMAGE["all lost"], {"run": record("run", run_id)}))
    async with open_atelier(scripts(Helper=["Blue it is."])) as atelier:
        await atelier.questions.answer_with(asked.id, text="blue")
        await completed(atelier, asked.run_id)
        await atelier.workflows.stop(workflow.id)
        await over(atelier, workflow.id, run_id)


async def test_what_its_request_may_have_cost_goes_on_counting(open_atelier: Opener, tmp_path: Path) -> None:
    workflow_id, run_id = await damaged(open_atelier, tmp_path, "question", "all lost")
    clock = ManualClock()
    async with open_atelier([], clock=clock) as atelier:
        lost = UsageRecord(workflow_id, "A", "p", "m", clock.now(), Usage(tokens_output=500, cost=0.5), 1, 0)
        await atelier.repos.used.send(SentKey(run_id, OWN), lost)
        await atelier.workflows.stop(workflow_id)
        await over(atelier, workflow_id, run_id)
        assert await month_cost(atelier) == 0.5
    async with open_atelier([], clock=clock) as atelier:
        assert await month_cost(atelier) == 0.5, "no event can have it"
