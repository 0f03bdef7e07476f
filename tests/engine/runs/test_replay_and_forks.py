"""Replay of a run's stream, and forks and branches of workflows."""

# judges: app/atelier_desk/engine/run/driver.py
from __future__ import annotations

import asyncio

import pytest

from atelier_desk.domain.errors import NotFoundError, ProviderError
from atelier_desk.domain.events.run import ModelReplied, RunPaused
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, Recorder, completed, send_and_wait
from tests.engine.runs.sample_runs import agent, start
from tests.helpers.scripted_teams import calculate
from tests.helpers.tool_calls import tool_call


async def test_fork_at_an_event_copies_what_was_before_and_leaves_the_original(open_atelier: Opener) -> None:
    model = ScriptedModel(["one", "two", "other two"])
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await start(atelier, "first")
        await atelier.runs.wait(run_id)
        border = max(event.seq for event in seen.events if event.durable)
        await send_and_wait(atelier, workflow_id, "second", agent=agent())
        forked = await atelier.runs.fork(workflow_id, at=border)
        assert forked.stream_seq == border
        await send_and_wait(atelier, forked.id, "third", agent=agent())
        assert [m.content for m in await atelier.repos.messages.page(workflow_id)] == ["first", "one", "second", "two"]
        assert [m.content for m in await atelier.repos.messages.page(forked.id)] == [
            "first",
            "one",
            "third",
            "other two",
        ]
        with pytest.raises(NotFoundError):
            await atelier.runs.fork(workflow_id, at=9999)


async def test_fork_in_the_middle_of_a_run_is_paused(open_atelier: Opener) -> None:
    async with open_atelier([[calculate("c", "1+1")], "two", "two again"]) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await start(atelier)
        await atelier.runs.wait(run_id)
        at = next(event.seq for event in seen.events if event.chunk_type is ChunkType.TOOL_END)
        over = await atelier.repos.runs.get(run_id)
        forked = await atelier.runs.fork(workflow_id, at=at)
        assert forked.head_run_id is not None
        copy = await atelier.repos.runs.get(forked.head_run_id)
        assert copy.status is RunStatus.PAUSED
        assert copy.created_at == over.created_at
        assert copy.elapsed_ms <= over.elapsed_ms, "the time since then is nobody's work"
        await atelier.runs.steering.resume(forked.head_run_id)
        await completed(atelier, forked.head_run_id)


async def test_fork_at_a_reply_makes_its_calls_afresh(open_atelier: Opener) -> None:
    """In the original the call started with the reply; in the copy it is only planned, so nothing was interrupted."""
    create = tool_call("TodoTool", "t", operation="create", name="once")
    async with open_atelier([[create], "done", "done", "done again", "done again"]) as atelier:
        workflow_id, run_id = await start(atelier)
        await atelier.runs.wait(run_id)
        replied = next(
            event for event in await run_events(atelier.repos, run_id) if isinstance(event.body, ModelReplied)
        )
        forked = await atelier.runs.fork(workflow_id, at=replied.stream_from)
        assert forked.head_run_id is not None
        assert [type(event.body) for event in await run_events(atelier.repos, forked.head_run_id)][-2:] == [
            ModelReplied,
            RunPaused,
        ]
        await atelier.runs.steering.resume(forked.head_run_id)
        await completed(atelier, forked.head_run_id)
        assert [task.name for task in await atelier.tasks.list(forked.id)] == ["once"]


async def test_a_regenerated_answer_is_a_branch_next_to_the_old_one(open_atelier: Opener) -> None:
    model = ScriptedModel(["one", "two", "two again", "edited"])
    async with open_atelier(model) as atelier:
        workflow_id, first = await start(atelier, "first")
        await atelier.runs.wait(first)
        second = await send_and_wait(atelier, workflow_id, "second", agent=agent())
        other = await atelier.runs.regenerate(workflow_id, second)
        await atelier.runs.wait(other)
        edited = await atelier.runs.edit_and_resend(workflow_id, second, "changed")
        await atelier.runs.wait(edited)
        rows = {run.id: run.previous_run_id for run in await atelier.repos.runs.list(workflow_id)}
        assert rows == {first: None, second: first, other: first, edited: first}
    assert [m.content for m in model.requests[2].messages[1:]] == ["first", "one", "second"]
    assert [m.content for m in model.requests[3].messages[1:]] == ["first", "one", "changed"]


async def test_a_stopped_reply_belongs_to_its_own_branch_and_to_copies_of_it(open_atelier: Opener) -> None:
    model = ScriptedModel(["the first long answer", "another", "more", "more"], gate=asyncio.Event())
    assert model.gate is not None
    said = "the first long a\n\n[This reply was interrupted here.]"
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await start(atelier)
        await seen.until(ChunkType.TOKEN)
        await atelier.runs.cancel(run_id)
        model.gate.set()
        copy = await atelier.runs.fork(workflow_id, at=max(each.seq for each in seen.events))
        exported = await atelier.workflows.export(workflow_id)
        await atelier.runs.wait(await atelier.runs.regenerate(workflow_id, run_id))
        assert [each.content for each in model.requests[-1].messages[1:]] == ["hello"]
        imported = (await atelier.workflows.import_(exported)).workflow
        for other in (copy.id, imported.id):
            await send_and_wait(atelier, other, "go on", agent=agent())
            assert [each.content for each in model.requests[-1].messages[1:]] == ["hello", said, "go on"]


async def test_a_failed_turn_is_asked_of_another_model_beside_it(open_atelier: Opener) -> None:
    broken = ProviderError("no", code="auth", recoverable=False)
    models = {"small": ScriptedModel([broken]), "big": ScriptedModel(["Here it is."])}
    async with open_atelier(lambda agent: models[agent.model]) as atelier:
        workflow_id, failed = await start(atelier, agent=agent(model="small"))
        await atelier.runs.wait(failed)
        (error,) = [row for row in await atelier.repos.messages.page(workflow_id) if row.kind == "error"]
        asked = {"agent_id": "", "model_provider": "local", "model": "small"}
        assert asked.items() <= error.details.items()
        run_id = await atelier.runs.regenerate(workflow_id, failed, provider="local", model="big")
        await completed(atelier, run_id)
        shown = await atelier.workflows.transcript(workflow_id)
    assert [entry.message.content for entry in shown] == ["hello", "Here it is."]
    assert shown[0].branch is not None
    assert shown[0].branch.runs == (failed, run_id)
