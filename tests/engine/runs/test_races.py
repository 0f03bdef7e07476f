"""Race conditions: commands during a step or a commit, cancelled waits, full disks."""

# judges: app/atelier_desk/engine/run/driver.py
# judges: app/atelier_desk/engine/journal/journal.py
from __future__ import annotations

import asyncio
from typing import Any

import pytest

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.errors import ConflictError, NotFoundError, StorageError
from atelier_desk.domain.events.run import (
    CallStatus,
    ModelReplied,
    QuestionAnswered,
    RunFinished,
    RunPaused,
    TaskChanged,
    ToolCallFinished,
    ToolCallStarted,
    UserMessage,
)
from atelier_desk.domain.model_messages import ChatRequest, ToolCall
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.task import Task, TaskStatus
from atelier_desk.domain.workflow import Dispatch, RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.engine.runs import live_runs, pause_resume_step
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.storage.database_engine import Outcome
from atelier_desk.storage.writing.journal_commit import Commit
from tests.engine.conftest import Opener, Recorder, stored_status
from tests.engine.runs.commit_gate import Gate, bodies, ended, holds, turns
from tests.engine.runs.sample_runs import Blocking, agent, start
from tests.helpers.scripted_teams import ask_user, calculate
from tests.helpers.tool_calls import tool_call


async def test_a_message_that_arrives_while_the_run_ends_is_answered(open_atelier: Opener) -> None:
    model = ScriptedModel(["first", "second"])
    async with open_atelier(model) as atelier:
        gate = Gate(atelier, holds(RunFinished))
        workflow_id, run_id = await start(atelier)
        await gate.reached.wait()
        sending = asyncio.create_task(atelier.runs.send(workflow_id, "wait", agent=agent()))
        await turns()
        gate.open.set()
        other = await sending
        assert other != run_id
        assert (await ended(atelier, other)).status is RunStatus.COMPLETED
        model.assert_complete()
        assert isinstance((await bodies(atelier, run_id))[-1], RunFinished)


async def test_a_message_stored_before_the_end_keeps_the_run_active(open_atelier: Opener) -> None:
    """The last reply waits for the message being stored; committed with it, the run would have ended."""
    answered = asyncio.Event()
    model = ScriptedModel(["first", "second"], gate=answered)
    async with open_atelier(model) as atelier:
        gate = Gate(atelier, lambda event: isinstance(event.body, UserMessage) and event.seq > 2)
        workflow_id, run_id = await start(atelier)
        sending = asyncio.create_task(atelier.runs.send(workflow_id, "wait", agent=agent()))
        await gate.reached.wait()
        answered.set()
        await turns()
        gate.open.set()
        assert await sending == run_id
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED
        model.assert_complete()
        assert [type(body) for body in await bodies(atelier, run_id)].count(RunFinished) == 1


@pytest.mark.parametrize("kind", [ModelReplied, RunFinished, UserMessage])
async def test_cancel_during_a_commit_leaves_memory_and_disk_the_same(open_atelier: Opener, kind: type) -> None:
    async with open_atelier(["first", "again"]) as atelier:
        gate = Gate(atelier, lambda event: isinstance(event.body, kind) and event.seq > 2)
        workflow_id, run_id = await start(atelier)
        if kind is UserMessage:
            gate.reached.set()
        await gate.reached.wait()
        cancelling = asyncio.create_task(atelier.runs.cancel(run_id))
        await turns()
        gate.open.set()
        await cancelling
        kept = [type(body) for body in await bodies(atelier, run_id)]
        assert kept.count(RunFinished) == 1
        row = await atelier.runs.wait(await atelier.runs.send(workflow_id, "next", agent=agent()))
        assert row.status in (RunStatus.COMPLETED, RunStatus.ERROR)
        replayed = [event.seq async for event in atelier.runs.replay(workflow_id)]
        assert replayed == list(range(1, len(replayed) + 1))


async def test_a_completely_stored_reply_is_not_stored_again_as_interrupted(open_atelier: Opener) -> None:
    async with open_atelier(["the whole reply"]) as atelier:
        gate = Gate(atelier, holds(ModelReplied))
        workflow_id, run_id = await start(atelier)
        await gate.reached.wait()
        cancelling = asyncio.create_task(atelier.runs.cancel(run_id))
        await turns()
        gate.open.set()
        await cancelling
        replies = [
            message for message in await atelier.repos.messages.page(workflow_id) if message.role.value == "assistant"
        ]
        assert [message.kind for message in replies] == ["reply"]


async def test_a_sender_that_gives_up_leaves_an_active_run(open_atelier: Opener) -> None:
    model = ScriptedModel(["answer"])
    async with open_atelier(model) as atelier:
        gate = Gate(atelier, holds(UserMessage))
        workflow = await atelier.workflows.create()
        sending = asyncio.create_task(atelier.runs.send(workflow.id, "hello", agent=agent()))
        await gate.reached.wait()
        sending.cancel()
        await turns()
        gate.open.set()
        with pytest.raises(asyncio.CancelledError):
            await sending
        run_id = atelier.runs.live.alive.get(workflow.id)
        assert run_id is not None
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED


async def test_a_question_is_answered_by_the_first_of_two_and_cancelling_stores_one_end(open_atelier: Opener) -> None:
    async with open_atelier([[ask_user("q1")], "thanks"]) as atelier:
        workflow_id, run_id = await start(atelier)
        await ended(atelier, run_id)
        (question,) = await atelier.questions.pending()
        answers = [
            atelier.runs.answering.answer_question(question.id, QuestionStatus.ANSWERED, text=text)
            for text in ("a", "b")
        ]
        results = await asyncio.gather(*answers, atelier.runs.cancel(run_id), return_exceptions=True)
        assert ConflictError in [type(result) for result in results]
        kept = await bodies(atelier, run_id)
        assert [type(body) for body in kept].count(QuestionAnswered) == 1
        assert (await atelier.repos.workflows.get(workflow_id)).pending_questions == 0


async def test_an_interrupt_and_an_answer_at_once_close_the_question_once(open_atelier: Opener) -> None:
    async with open_atelier([[ask_user("q1")], "fine", "fine", "fine"]) as atelier:
        workflow_id, run_id = await start(atelier)
        await ended(atelier, run_id)
        (question,) = await atelier.questions.pending()
        await asyncio.gather(
            atelier.runs.send(workflow_id, "never mind", strategy=Dispatch.REDIRECT),
            atelier.runs.answering.answer_question(question.id, QuestionStatus.ANSWERED, text="a"),
            return_exceptions=True,
        )
        await ended(atelier, run_id)
        assert [type(body) for body in await bodies(atelier, run_id)].count(QuestionAnswered) == 1


async def test_two_resumes_raise_a_limit_once(open_atelier: Opener) -> None:
    async with open_atelier([[calculate("a", "1+1")], "two"]) as atelier:
        _, run_id = await start(atelier, agent=agent(max_tool_iterations=1))
        await ended(atelier, run_id)
        results = await asyncio.gather(
            *(atelier.runs.steering.resume(run_id, raise_limits={"iterations": 1}) for _ in range(2)),  # type: ignore[dict-item]
            return_exceptions=True,
        )
        assert [type(result) for result in results].count(ConflictError) == 1
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED


async def test_a_pause_during_a_call_that_asks_holds_the_run_after_the_answer(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([[ask_user("q1")], "thanks"], gate=gate)
    async with open_atelier(model) as atelier:
        _, run_id = await start(atelier)
        while not model.requests:
            await asyncio.sleep(0)
        pausing = Gate(atelier, lambda event: event.body.type == "question_asked")
        gate.set()
        await pausing.reached.wait()
        await atelier.runs.steering.pause(run_id)
        pausing.open.set()
        assert (await ended(atelier, run_id)).status is RunStatus.PAUSED
        (question,) = await atelier.questions.pending()
        await atelier.runs.answering.answer_question(question.id, QuestionStatus.ANSWERED, text="x")
        assert (await ended(atelier, run_id)).status is RunStatus.PAUSED
        await atelier.runs.steering.resume(run_id)
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED


async def test_a_pending_pause_is_undone(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([[calculate("a", "1+1")], "two"], gate=gate)
    async with open_atelier(model) as atelier:
        _, run_id = await start(atelier)
        while not model.requests:
            await asyncio.sleep(0)
        await atelier.runs.steering.pause(run_id)
        await atelier.runs.steering.resume(run_id)
        gate.set()
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED


class Stubborn(Blocking):
    """Resists cancellation."""

    name = "stubborn"

    async def run(self, input: Any, context: Any) -> Any:
        try:
            return await super().run(input, context)
        except asyncio.CancelledError:
            from atelier_desk.tools.base import ToolResult

            return ToolResult.ok(stubborn=True)


async def test_a_tool_that_swallows_its_cancellation_does_not_keep_the_run_active(open_atelier: Opener) -> None:
    tool = Stubborn()
    async with open_atelier([[tool_call("stubborn")], "not asked for"]) as atelier:
        atelier.registry.register(tool)
        _, run_id = await start(atelier, agent=agent(tools=("stubborn",)))
        await tool.running.wait()
        async with asyncio.timeout(20):
            await atelier.runs.cancel(run_id)
        assert await stored_status(atelier, run_id) is RunStatus.CANCELLED


async def test_a_slot_is_released_however_a_run_ends(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    async with open_atelier(ScriptedModel(["x"] * 9, gate=gate)) as atelier:
        runs = [await start(atelier) for _ in range(5)]
        await turns()
        await asyncio.gather(*(atelier.runs.cancel(run_id) for _, run_id in runs))
        gate.set()
        _, last = await start(atelier)
        assert (await ended(atelier, last)).status is RunStatus.COMPLETED


async def test_waiting_for_a_slot_is_not_working_time(open_atelier: Opener, clock: Any) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(["x", "y"], gate=gate)
    async with open_atelier(model, clock=clock) as atelier:
        atelier.runs.live.slots.limit = 1
        _, first = await start(atelier)
        _, second = await start(atelier, agent=agent(budget=Budget(max_seconds=5)))
        await turns()
        await clock.advance(60)
        gate.set()
        assert (await ended(atelier, first)).status is RunStatus.COMPLETED
        assert (await ended(atelier, second)).status is RunStatus.COMPLETED


async def test_a_full_disk_stops_the_run_with_a_message_and_it_continues_later(open_atelier: Opener) -> None:
    model = ScriptedModel(["lost", "kept"])
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        Gate(atelier, holds(ModelReplied), StorageError("The disk is full.", code="disk_full"))
        events = [event async for event in atelier.run("hello", agent=agent())]
        assert events[-1].data["status"] == "error"
        failed = await seen.until(ChunkType.ERROR)
        assert (failed.data["code"], failed.durable) == ("disk_full", False)
        run_id = events[0].run_id
        assert atelier.runs.live.alive.get(events[0].workflow_id) == run_id
        await atelier.runs.steering.resume(run_id)
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED
        durable = [event for event in seen.events if event.durable]
        assert durable == [event async for event in atelier.runs.replay(events[0].workflow_id)]


@pytest.mark.parametrize("kept", [True, False])
async def test_a_disk_failure_in_a_commit_stops_the_run_unless_the_commit_was_stored(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    """The engine of the store reports that a commit failed; the database is reopened to find out whether it was
    stored.
    """
    model = ScriptedModel([[calculate("c", "6*7")], "two", "two"])
    async with open_atelier(model) as atelier:
        engine = atelier.store._engine
        real, failures = engine.run, 1

        async def failing(sql: str, params: dict[str, Any]) -> list[Outcome]:
            nonlocal failures
            if not failures or "model_replied" not in str(params):
                return await real(sql, params)
            failures = 0
            if kept:
                await real(sql, params)
            return [Outcome(False, "Cannot COMMIT: WAL error: IO error: Input/output error (os error 5)")]

        monkeypatch.setattr(engine, "run", failing)
        seen = Recorder(atelier)
        events = [event async for event in atelier.run("hello", agent=agent())]
        run_id = events[0].run_id
        assert not failures
        if not kept:
            assert events[-1].data["status"] == "error"
            failed = await seen.until(ChunkType.ERROR)
            assert (failed.data["code"], failed.durable) == ("io", False)
            assert "could not be read or written" in failed.data["message"]
            await atelier.runs.steering.resume(run_id)
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED
        durable = [event for event in seen.events if event.durable]
        assert durable == [event async for event in atelier.runs.replay(events[0].workflow_id)]
        assert [event.seq for event in durable] == list(range(1, len(durable) + 1))


def seems_to_fail(atelier: Atelier, kind: type) -> None:
    """The next commit with an event of the kind is stored, but its caller is told that it was not."""
    store = atelier.repos.journal.commit

    async def unsure(commit: Commit) -> None:
        await store(commit)
        if any(isinstance(event.body, kind) for event in commit.events):
            atelier.repos.journal.commit = store  # type: ignore[method-assign]
            raise StorageError("The connection is gone.", code="damaged")

    atelier.repos.journal.commit = unsure  # type: ignore[method-assign]


async def test_a_commit_stored_despite_an_error_is_not_repeated(open_atelier: Opener) -> None:
    model = ScriptedModel([[calculate("c", "6*7")], "two"])
    async with open_atelier(model) as atelier:
        seems_to_fail(atelier, ModelReplied)
        workflow_id, run_id = await start(atelier)
        await ended(atelier, run_id)
        await atelier.runs.steering.resume(run_id)
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED
        model.assert_complete()
        assert [message.content for message in await atelier.repos.messages.page(workflow_id)] == ["hello", "", "two"]


async def test_an_end_stored_despite_an_error_is_final(open_atelier: Opener) -> None:
    async with open_atelier(["one", "two"]) as atelier:
        seems_to_fail(atelier, RunFinished)
        workflow_id, run_id = await start(atelier)
        await ended(atelier, run_id)
        other = await atelier.runs.send(workflow_id, "next", agent=agent())
        assert (await ended(atelier, other)).status is RunStatus.COMPLETED
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED
        contents = [message.content for message in await atelier.repos.messages.page(workflow_id)]
        assert contents == ["hello", "one", "next", "two"]


async def test_a_pause_that_arrives_while_calls_start_lets_them_run(open_atelier: Opener) -> None:
    """Their start is recorded with the reply: paused before they ran, they would look as if a kill had interrupted
    them.
    """
    append = tool_call("TodoTool", "t", operation="create", name="once")
    async with open_atelier([[append], "done", "done"]) as atelier:
        gate = Gate(atelier, holds(ToolCallStarted))
        workflow_id, run_id = await start(atelier)
        await gate.reached.wait()
        await atelier.runs.steering.pause(run_id)
        gate.open.set()
        assert (await ended(atelier, run_id)).status is RunStatus.PAUSED
        (call,) = [body for body in await bodies(atelier, run_id) if isinstance(body, ToolCallFinished)]
        assert call.status is CallStatus.OK
        await atelier.runs.steering.resume(run_id)
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED
        assert [task.name for task in await atelier.tasks.list(workflow_id)] == ["once"]


async def test_calls_do_not_start_with_the_reply_when_a_pause_is_pending(open_atelier: Opener) -> None:
    answered = asyncio.Event()
    async with open_atelier(ScriptedModel([[calculate("c", "6*7")], "done"], gate=answered)) as atelier:
        _, run_id = await start(atelier)
        await turns()
        await atelier.runs.steering.pause(run_id)
        answered.set()
        assert (await ended(atelier, run_id)).status is RunStatus.PAUSED
        assert [type(body) for body in await bodies(atelier, run_id)][-2:] == [ModelReplied, RunPaused]
        await atelier.runs.steering.resume(run_id)
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED


async def test_a_stop_that_arrives_while_calls_start_prevents_them(open_atelier: Opener) -> None:
    append = tool_call("TodoTool", "t", operation="create", name="never")
    async with open_atelier([[append]]) as atelier:
        gate = Gate(atelier, holds(ToolCallStarted))
        workflow_id, run_id = await start(atelier)
        await gate.reached.wait()
        cancelling = asyncio.create_task(atelier.runs.cancel(run_id))
        await turns()
        gate.open.set()
        await cancelling
        (call,) = [body for body in await bodies(atelier, run_id) if isinstance(body, ToolCallFinished)]
        assert call.status is CallStatus.CANCELLED
        assert await atelier.tasks.list(workflow_id) == []


async def test_purging_the_workflow_of_an_active_run_ends_it_quietly(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(["gone"], gate=gate)
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await start(atelier)
        await seen.until(ChunkType.TOKEN)
        waiting = asyncio.create_task(atelier.runs.wait(run_id))
        await atelier.repos.workflows.purge(workflow_id)
        gate.set()
        async with asyncio.timeout(20):
            await asyncio.wait({waiting})
        assert atelier.runs.live.alive.get(workflow_id) is None
        with pytest.raises(NotFoundError):
            await atelier.runs.send(workflow_id, "hello", agent=agent())


async def test_lone_surrogates_do_not_stop_a_run(open_atelier: Opener) -> None:
    broken = "half \ud83d, whole \U0001f600"
    call = tool_call("TodoTool", operation="create", name="a \udc00 b")
    async with open_atelier([[call], broken, "fine"]) as atelier:
        workflow_id, run_id = await start(atelier, "from \ud800 you")
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED
        contents = [message.content for message in await atelier.repos.messages.page(workflow_id)]
        assert contents[0] == "from \ufffd you"
        assert "half \ufffd, whole \U0001f600" in contents


async def test_a_message_queued_while_the_agent_finished_is_answered(open_atelier: Opener) -> None:
    tool = Blocking()
    calls = [tool_call("blocking", "a"), tool_call("task_complete", "b", summary="done")]
    model = ScriptedModel([calls, "answer to the other"])
    async with open_atelier(model) as atelier:
        atelier.registry.register(tool)
        workflow_id, run_id = await start(atelier, agent=agent(tools=("blocking", "task_complete")))
        await tool.running.wait()
        assert await atelier.runs.send(workflow_id, "one more thing") == run_id
        tool.release.set()
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED
    assert model.requests[1].messages[-1].content == "one more thing"


async def test_a_retried_failed_run_is_the_active_one(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([ValueError("odd"), "fine"], gate=gate)
    async with open_atelier(model) as atelier:
        workflow_id, run_id = await start(atelier)
        assert (await ended(atelier, run_id)).status is RunStatus.ERROR
        assert atelier.runs.live.alive.get(workflow_id) is None
        await atelier.runs.steering.resume(run_id)
        assert atelier.runs.live.alive.get(workflow_id) == run_id
        gate.set()
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED


async def test_a_run_that_fails_while_somebody_continues_it_is_not_taken_up_again(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has ended then, and another turn may have begun."""
    gate, looked, answer = asyncio.Event(), asyncio.Event(), asyncio.Event()
    model = ScriptedModel([[calculate("a", "1+1")], ValueError("odd"), "never"], gate=gate)
    look = live_runs.lost_reply

    async def slowly(*args: Any) -> Any:
        if not looked.is_set():
            looked.set()
            await answer.wait()
        return await look(*args)

    async with open_atelier(model) as atelier:
        _, run_id = await start(atelier)
        while not model.requests:
            await asyncio.sleep(0)
        await atelier.runs.steering.pause(run_id)
        gate.set()
        assert (await ended(atelier, run_id)).status is RunStatus.PAUSED
        monkeypatch.setattr(pause_resume_step, "lost_reply", slowly)
        first = asyncio.create_task(atelier.runs.steering.resume(run_id))
        await looked.wait()
        await atelier.runs.steering.resume(run_id)
        assert (await ended(atelier, run_id)).status is RunStatus.ERROR
        answer.set()
        with pytest.raises(ConflictError, match="has ended"):
            await first
        assert len(model.requests) == 2


async def test_a_turn_of_another_workflow_is_not_regenerated_here(open_atelier: Opener) -> None:
    async with open_atelier(["one"]) as atelier:
        _, run_id = await start(atelier)
        await ended(atelier, run_id)
        other = await atelier.workflows.create()
        with pytest.raises(NotFoundError):
            await atelier.runs.regenerate(other.id, run_id)


async def test_a_failed_fork_leaves_nothing_behind(open_atelier: Opener) -> None:
    async with open_atelier(["one"]) as atelier:
        workflow_id, run_id = await start(atelier)
        await ended(atelier, run_id)
        Gate(atelier, holds(ModelReplied), StorageError("The disk is full.", code="disk_full"))
        with pytest.raises(StorageError):
            await atelier.runs.fork(workflow_id, at=3 + 2)
        assert [workflow.id for workflow in await atelier.repos.workflows.list()] == [workflow_id]


async def test_paused_fork_is_the_active_run_of_its_workflow(open_atelier: Opener) -> None:
    async with open_atelier([[ask_user("q1")], "thanks"]) as atelier:
        workflow_id, run_id = await start(atelier)
        await ended(atelier, run_id)
        last = (await atelier.repos.workflows.get(workflow_id)).stream_seq
        forked = await atelier.runs.fork(workflow_id, at=last)
        assert atelier.runs.live.alive.get(forked.id) == forked.head_run_id
        original, copied = await atelier.questions.pending()
        assert {original.workflow_id, copied.workflow_id} == {workflow_id, forked.id}
        mine = copied if copied.workflow_id == forked.id else original
        await atelier.runs.answering.answer_question(mine.id, QuestionStatus.ANSWERED, text="x")
        assert len(await atelier.questions.pending()) == 1


async def test_a_task_changed_by_a_person_after_the_end_does_not_end_the_stream_twice(open_atelier: Opener) -> None:
    async with open_atelier(["fine"]) as atelier:
        workflow = await atelier.workflows.create()
        kinds = []
        async for event in atelier.run("hello", agent=agent(), workflow_id=workflow.id):
            kinds.append(event.chunk_type)
            if event.chunk_type is ChunkType.WORKFLOW_COMPLETE and kinds.count(ChunkType.WORKFLOW_COMPLETE) == 1:
                await atelier.tasks.create(workflow.id, "by hand")
        assert kinds.count(ChunkType.WORKFLOW_COMPLETE) == 1


async def test_a_task_changed_by_a_person_and_a_tool_keeps_both_changes(open_atelier: Opener) -> None:
    task = ""

    def complete(_request: ChatRequest) -> list[ToolCall]:
        return [tool_call("TodoTool", "c1", operation="complete", task_id=task)]

    async with open_atelier([complete, "Done."]) as atelier:
        workflow = await atelier.workflows.create("w")
        task = (await atelier.tasks.create(workflow.id, "Write")).id
        read, names = atelier.repos.tasks.by_id, ["Write it again"]

        async def tasks(workflow_id: str) -> dict[str, Task]:
            found = await read(workflow_id)
            if names:
                await atelier.tasks.update(workflow_id, task, name=names.pop())
            return found

        atelier.repos.tasks.by_id = tasks  # type: ignore[method-assign]
        run_id = await atelier.runs.send(workflow.id, "go", agent=agent(tools=("TodoTool",)))
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED
        [kept] = await atelier.tasks.list(workflow.id)
        assert (kept.name, kept.status) == ("Write it again", TaskStatus.COMPLETED)
        [result] = [body for body in await bodies(atelier, run_id) if isinstance(body, ToolCallFinished)]
        assert result.result["task"]["name"] == "Write it again"


async def test_task_of_a_call_is_committed_with_its_result(open_atelier: Opener) -> None:
    call = tool_call("TodoTool", "c1", operation="create", name="Write")
    async with open_atelier([[call], "Done.", "Really."]) as atelier:
        _, run_id = await start(atelier, agent=agent(tools=("TodoTool",)))
        await ended(atelier, run_id)
        by_commit = [
            event.commit
            for event in await run_events(atelier.repos, run_id)
            if isinstance(event.body, TaskChanged | ToolCallFinished)
        ]
        assert len(by_commit) == 2
        assert len(set(by_commit)) == 1
