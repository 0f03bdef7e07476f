"""Queued messages: listed, edited, removed, sent now; after a stop, after a restart, in a copy and on another
branch.
"""

from __future__ import annotations

import asyncio

import pytest

from atelier_desk.domain.errors import ConflictError, NotFoundError, UsageError
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import Dispatch, RunStatus
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener
from tests.engine.runs.busy_workflow import Busy
from tests.engine.runs.sample_runs import agent


def asked(model: ScriptedModel, number: int) -> list[str]:
    """The texts of a request after the system message."""
    return [str(message.content) for message in model.requests[number].messages[1:]]


async def test_a_queued_message_is_not_in_the_transcript_until_its_turn(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    async with open_atelier(ScriptedModel(["one", "two", "three"], gate=gate)) as atelier:
        busy = await Busy(atelier, gate, "second", "third").begin()
        assert await busy.queue() == ["second", "third"]
        assert await busy.shown() == ["hello"]
        assert await busy.answer() is RunStatus.COMPLETED
        assert await busy.queue() == []
        assert await busy.shown() == ["hello", "one", "second", "two", "third", "three"]
        told = [event for event in busy.seen.events if event.chunk_type is ChunkType.QUEUE]
        assert [[each["content"] for each in event.data["messages"]] for event in told] == [
            ["second"],
            ["second", "third"],
            ["third"],
            [],
        ]


async def test_a_queued_message_is_edited_moved_and_removed(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(["one", "two", "three"], gate=gate)
    async with open_atelier(model) as atelier:
        busy = await Busy(atelier, gate, "a", "b", "c").begin()
        a, b, c = await busy.ids()
        await atelier.runs.waiting.edit(busy.workflow_id, a, "A, better")
        await atelier.runs.waiting.move(busy.workflow_id, c, 0)
        assert (await atelier.runs.waiting.withdraw(busy.workflow_id, b)).content == "b"
        assert await busy.queue() == ["c", "A, better"]
        with pytest.raises(UsageError):
            await atelier.runs.waiting.edit(busy.workflow_id, a, "  ")
        with pytest.raises(ConflictError):
            await atelier.runs.waiting.edit(busy.workflow_id, b, "too late")
        await busy.answer()
        assert await busy.shown() == ["hello", "one", "c", "two", "A, better", "three"]
        assert asked(model, 2)[-1] == "A, better"


async def test_one_is_sent_now_and_the_others_stay_queued(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(["never whole", "to b", "to a"], gate=gate)
    async with open_atelier(model) as atelier:
        busy = await Busy(atelier, gate, "a", "b").begin()
        assert await atelier.runs.send_queued(busy.workflow_id, (await busy.ids())[1]) == busy.run_id
        await busy.answer()
        said = [text for text in await busy.shown() if text in {"hello", "a", "b", "to a", "to b"}]
        assert said == ["hello", "b", "to b", "a", "to a"]


async def test_after_a_stop_they_stay_queued_and_can_be_sent(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(["never", "to a", "to b"], gate=gate)
    async with open_atelier(model) as atelier:
        busy = await Busy(atelier, gate, "a", "b").begin()
        await atelier.runs.cancel(busy.run_id)
        assert await busy.queue() == ["a", "b"]
        gate.set()
        run_id = await atelier.runs.send_queued(busy.workflow_id)
        assert run_id != busy.run_id
        await busy.answer(run_id)
        assert (await busy.shown())[-4:] == ["a", "to a", "b", "to b"]
        assert await busy.queue() == []
        assert asked(model, 1)[-1] == "a", "the one that still waited is not known yet"


async def test_the_last_message_sent_after_a_stop_is_reported_as_no_longer_queued(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    async with open_atelier(ScriptedModel(["never", "to a"], gate=gate)) as atelier:
        busy = await Busy(atelier, gate, "a").begin()
        await atelier.runs.cancel(busy.run_id)
        gate.set()
        await busy.answer(await atelier.runs.send_queued(busy.workflow_id))
        assert (await busy.shown())[-2:] == ["a", "to a"]
        told = [event for event in busy.seen.events if event.chunk_type is ChunkType.QUEUE]
        assert [[each["content"] for each in event.data["messages"]] for event in told] == [["a"], []]


async def test_after_a_stop_another_message_goes_first(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(["never", "to this", "to a"], gate=gate)
    async with open_atelier(model) as atelier:
        busy = await Busy(atelier, gate, "a").begin()
        await atelier.runs.cancel(busy.run_id)
        gate.set()
        await busy.answer(await atelier.runs.send(busy.workflow_id, "this", agent=agent()))
        assert (await busy.shown())[-4:] == ["this", "to this", "a", "to a"]


async def test_they_survive_a_restart_and_can_then_be_removed(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    async with open_atelier(ScriptedModel(["never"], gate=gate)) as atelier:
        busy = await Busy(atelier, gate, "a", "b").begin()
        await atelier.runs.cancel(busy.run_id)
    async with open_atelier([]) as atelier:
        busy.atelier = atelier
        first, _second = await busy.ids()
        await atelier.runs.waiting.withdraw(busy.workflow_id, first)
        assert await busy.queue() == ["b"]
    async with open_atelier([]) as atelier:
        busy.atelier = atelier
        assert await busy.queue() == ["b"]


async def test_only_the_turn_that_took_them_over_has_them(open_atelier: Opener) -> None:
    """The stopped turn can be shown again; its queued messages were answered in another one."""
    gate = asyncio.Event()
    model = ScriptedModel(["never", "again", "to a"], gate=gate)
    async with open_atelier(model) as atelier:
        busy = await Busy(atelier, gate, "a").begin()
        await atelier.runs.cancel(busy.run_id)
        gate.set()
        await busy.answer(await atelier.runs.edit_and_resend(busy.workflow_id, busy.run_id, "hello again"))
        assert await busy.shown() == ["hello again", "again", "a", "to a"]
        await atelier.workflows.select_branch(busy.workflow_id, busy.run_id)
        assert await busy.queue() == []


async def test_a_turn_of_several_messages_is_regenerated_up_to_the_chosen_one(open_atelier: Opener) -> None:
    """Earlier messages of the turn are sent again; only the chosen one is changed, and its versions are shown at
    the message that started the turn.
    """
    gate = asyncio.Event()
    model = ScriptedModel(
        ["one", "two", "three", *["x", "two, edited"], *["y", "two, again"], *["p", "q", "r"]], gate=gate
    )
    async with open_atelier(model) as atelier:
        busy = await Busy(atelier, gate, "second", "third").begin()
        await busy.answer()
        _hello, _one, second, two, *_ = [
            entry.message for entry in await atelier.workflows.transcript(busy.workflow_id)
        ]
        runs, workflow_id = atelier.runs, busy.workflow_id
        await busy.answer(await runs.edit_and_resend(workflow_id, busy.run_id, "second, better", second.id))
        assert await busy.shown() == ["hello", "x", "second, better", "two, edited"]
        await busy.answer(await runs.regenerate(workflow_id, busy.run_id, two.id))
        assert await busy.shown() == ["hello", "y", "second", "two, again"]
        again = await runs.regenerate(workflow_id, busy.run_id)
        await busy.answer(again)
        assert await busy.shown() == ["hello", "p", "second", "q", "third", "r"]
        entries = await atelier.workflows.transcript(workflow_id)
        assert [entry.branch.count if entry.branch else 0 for entry in entries] == [4, 0, 0, 0, 0, 0]
        page = await atelier.workflows.transcript(workflow_id, limit=2)
        assert [entry.branch for entry in page] == [None, None], "its turn began on the page before"
        with pytest.raises(NotFoundError, match="no message"):
            await runs.edit_and_resend(workflow_id, again, "x", two.id)


async def test_a_copy_and_an_import_have_the_queued_messages(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    async with open_atelier(ScriptedModel(["never"], gate=gate)) as atelier:
        busy = await Busy(atelier, gate, "a").begin()
        await atelier.runs.cancel(busy.run_id)
        copy = await atelier.workflows.duplicate(busy.workflow_id)
        assert [each.content for each in await atelier.runs.waiting.list(copy.id)] == ["a"]
        fork = await atelier.runs.fork(busy.workflow_id, (await atelier.workflows.get(busy.workflow_id)).stream_seq)
        assert [each.content for each in await atelier.runs.waiting.list(fork.id)] == ["a"]


async def test_a_note_is_not_a_queued_message(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    async with open_atelier(ScriptedModel(["one"], gate=gate)) as atelier:
        busy = await Busy(atelier, gate).begin()
        await atelier.runs.send(busy.workflow_id, "by the way", strategy=Dispatch.SILENT)
        assert await busy.queue() == []
        assert await busy.shown() == ["hello", "by the way"]
        await busy.answer()
