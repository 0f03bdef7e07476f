"""Pinned messages, branches as new workflows, deleted branches: with a real database."""

from __future__ import annotations

import asyncio

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.usage import summed
from atelier_desk.engine import Atelier
from tests.engine.conftest import Opener, exported_workflow, send_and_wait
from tests.helpers.manual_clock import ManualClock

AGENT = AgentConfig(name="Tester", provider="test", model="scripted", tools=())


async def turn(atelier: Atelier, workflow_id: str, text: str) -> str:
    run_id = await send_and_wait(atelier, workflow_id, text, agent=AGENT)
    return run_id


async def said(atelier: Atelier, workflow_id: str) -> list[str]:
    return [entry.message.content for entry in await atelier.workflows.transcript(workflow_id)]


async def test_a_pinned_message_is_stored_listed_exported_and_sent_completely(open_atelier: Opener) -> None:
    async with open_atelier(["One.", "Two."]) as atelier:
        workflow = await atelier.workflows.create("x")
        await turn(atelier, workflow.id, "first")
        run_id = await turn(atelier, workflow.id, "second")
        answer = (await atelier.workflows.transcript(workflow.id))[1].message
        assert (await atelier.messages.set_pinned(answer.id)).pinned
        assert [each.content for each in await atelier.messages.pinned(workflow.id)] == ["One."]
        held = await atelier.runs.team_of(run_id)
        assert [entry.text for entry in held[0].current.conversation if entry.pinned] == ["One."]
        exported = await exported_workflow(atelier, workflow.id)
        assert [each["content"] for each in exported["messages"] if each["pinned"]] == ["One."]
        assert "· pinned" in await atelier.workflows.export(workflow.id, "md")
        copy = await atelier.workflows.duplicate(workflow.id)
        assert [each.content for each in await atelier.messages.pinned(copy.id)] == ["One."]
        await atelier.messages.set_pinned(answer.id, False)
        assert await atelier.messages.pinned(workflow.id) == []
        with pytest.raises(NotFoundError):
            await atelier.messages.set_pinned("missing")


async def test_a_pin_of_the_context_pane_marks_the_message(open_atelier: Opener) -> None:
    async with open_atelier(["One."]) as atelier:
        workflow = await atelier.workflows.create("x")
        run_id = await turn(atelier, workflow.id, "first")
        held = (await atelier.runs.team_of(run_id))[0]
        question = next(entry for entry in held.current.conversation if entry.text == "first")
        await atelier.runs.editing.pin(workflow.id, question.origin)
        assert [each.content for each in await atelier.messages.pinned(workflow.id)] == ["first"]


async def test_branch_here_continues_after_the_turn_of_the_message(open_atelier: Opener) -> None:
    async with open_atelier(["One.", "Two.", "Three."]) as atelier:
        workflow = await atelier.workflows.create("x")
        for text in ("first", "second"):
            await turn(atelier, workflow.id, text)
        first = (await atelier.workflows.transcript(workflow.id))[0].message
        branch = await atelier.messages.branch_here(first.id)
        assert await said(atelier, branch.id) == ["first", "One."]
        assert atelier.runs.live.alive.get(branch.id) is None, "the turn is whole: nothing has to be resumed"
        await turn(atelier, branch.id, "another")
        assert await said(atelier, branch.id) == ["first", "One.", "another", "Three."]
        assert await said(atelier, workflow.id) == ["first", "One.", "second", "Two."]


async def test_a_deleted_version_shows_the_other_one_and_can_be_restored(open_atelier: Opener) -> None:
    async with open_atelier(["One.", "Two.", "Anew: uno."]) as atelier:
        workflow = await atelier.workflows.create("x")
        first = await turn(atelier, workflow.id, "first")
        await turn(atelier, workflow.id, "second")
        again = await atelier.runs.regenerate(workflow.id, first)
        await atelier.runs.wait(again)
        assert await said(atelier, workflow.id) == ["first", "Anew: uno."]
        await atelier.workflows.delete_branch(workflow.id, again)
        assert await said(atelier, workflow.id) == ["first", "One.", "second", "Two."]
        assert await atelier.workflows.branches(workflow.id) == {}
        assert await atelier.workflows.search("uno") == []
        assert "uno" not in await atelier.workflows.export(workflow.id)
        await atelier.workflows.undo_delete_branch(workflow.id, again)
        assert await said(atelier, workflow.id) == ["first", "Anew: uno."]
        assert (await atelier.workflows.branches(workflow.id))[again].count == 2
        assert len(await atelier.workflows.search("uno")) == 1


async def test_without_another_version_the_turn_and_all_later_ones_are_deleted(open_atelier: Opener) -> None:
    async with open_atelier(["One.", "Two.", "Three.", "New."]) as atelier:
        workflow = await atelier.workflows.create("x")
        runs = [await turn(atelier, workflow.id, text) for text in ("first", "second", "third")]
        await atelier.workflows.delete_branch(workflow.id, runs[1])
        assert await said(atelier, workflow.id) == ["first", "One."]
        await turn(atelier, workflow.id, "other")
        assert await said(atelier, workflow.id) == ["first", "One.", "other", "New."]
        await atelier.workflows.undo_delete_branch(workflow.id, runs[1])
        assert await said(atelier, workflow.id) == ["first", "One.", "second", "Two.", "third", "Three."]
        await atelier.workflows.delete_branch(workflow.id, runs[0])
        assert await said(atelier, workflow.id) == []
        with pytest.raises(NotFoundError):
            await atelier.workflows.delete_branch(workflow.id, "missing")


async def test_a_deleted_branch_is_permanently_deleted_after_the_time_for_undo(
    open_atelier: Opener, clock: ManualClock
) -> None:
    async with open_atelier(["One.", "Two."], clock=clock) as atelier:
        workflow = await atelier.workflows.create("x")
        first, second = [await turn(atelier, workflow.id, text) for text in ("first", "second")]
        await atelier.workflows.delete_branch(workflow.id, second)
        await atelier.workflows.purge_expired()
        await atelier.workflows.undo_delete_branch(workflow.id, second)
        await atelier.workflows.delete_branch(workflow.id, second)
        await clock.advance(limits.DELETED_DAYS * 86_400 + 1)
        await atelier.workflows.purge_expired()
        with pytest.raises(NotFoundError):
            await atelier.workflows.undo_delete_branch(workflow.id, second)
        assert [run.id for run in await atelier.repos.runs.list(workflow.id)] == [first]
        assert await said(atelier, workflow.id) == ["first", "One."]


async def test_another_model_answers_once_and_the_workflow_keeps_its_own(open_atelier: Opener) -> None:
    async with open_atelier(["One.", "Anew: uno.", "Two."]) as atelier:
        workflow = await atelier.workflows.create("x")
        first = await turn(atelier, workflow.id, "first")
        agent = (await atelier.workflows.get(workflow.id)).agent_id
        again = await atelier.runs.regenerate(workflow.id, first, provider="test", model="other")
        await atelier.runs.wait(again)
        messages = [entry.message for entry in await atelier.workflows.transcript(workflow.id)]
        assert (messages[-1].content, messages[-1].model) == ("Anew: uno.", "other")
        assert (await atelier.workflows.get(workflow.id)).agent_id == agent


async def test_a_message_sent_while_its_branch_is_deleted_follows_no_deleted_turn(
    open_atelier: Opener, clock: ManualClock
) -> None:
    for ticks in (0, 1, 3, 9):
        async with open_atelier(["One.", "Two.", "Three.", "Four."], clock=clock) as atelier:
            workflow = await atelier.workflows.create("x")
            _first, second = [await turn(atelier, workflow.id, text) for text in ("first", "second")]
            sending = asyncio.create_task(turn(atelier, workflow.id, "third"))
            for _tick in range(ticks):
                await asyncio.sleep(0)
            await atelier.workflows.delete_branch(workflow.id, second)
            await sending
            runs = {run.id: run for run in await atelier.repos.runs.list(workflow.id)}
            for run in runs.values():
                before = runs.get(run.previous_run_id or "")
                assert run.deleted_at is not None or before is None or before.deleted_at is None
            await clock.advance(limits.DELETED_DAYS * 86_400 + 1)
            await atelier.workflows.purge_expired()
            await turn(atelier, workflow.id, "fourth")
            assert (await said(atelier, workflow.id))[:2] == ["first", "One."]


async def test_a_deleted_turn_is_not_regenerated(open_atelier: Opener) -> None:
    async with open_atelier(["One.", "Two."]) as atelier:
        workflow = await atelier.workflows.create("x")
        runs = [await turn(atelier, workflow.id, text) for text in ("first", "second")]
        await atelier.workflows.delete_branch(workflow.id, runs[0])
        with pytest.raises(NotFoundError):
            await atelier.runs.regenerate(workflow.id, runs[1])


async def test_costs_remain_when_branch_and_workflow_are_permanently_deleted(
    open_atelier: Opener, clock: ManualClock
) -> None:
    async with open_atelier(["One.", "Two.", "Three."], clock=clock) as atelier:
        workflow = await atelier.workflows.create("x")
        _first, second = [await turn(atelier, workflow.id, text) for text in ("first", "second")]
        spent = summed(await atelier.usage.rows())
        assert (await atelier.workflows.get(workflow.id)).usage == spent.usage
        await atelier.workflows.delete_branch(workflow.id, second)
        await clock.advance(limits.DELETED_DAYS * 86_400 + 1)
        await atelier.workflows.purge_expired()
        assert len(await atelier.repos.runs.list(workflow.id)) == 1
        rows = await atelier.usage.rows()
        assert summed(rows) == spent
        assert (await atelier.workflows.get(workflow.id)).usage == spent.usage
        await turn(atelier, workflow.id, "third")
        more = summed(await atelier.usage.rows())
        assert more.requests == 3
        assert (await atelier.workflows.get(workflow.id)).usage == more.usage
        await atelier.workflows.purge(workflow.id)
        rows = await atelier.usage.rows(days=limits.DELETED_DAYS + 2)
        assert summed(rows) == more
        assert {row.workflow for row in rows} == {"(deleted)"}
