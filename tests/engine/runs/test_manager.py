"""Runs with a real database: steered, stopped, interrupted and resumed."""

# judges: app/atelier_desk/engine/run/driver.py
from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from atelier_desk.domain.agent import Budget, ToolMode
from atelier_desk.domain.errors import (
    ConflictError,
    ContextOverflowError,
    LimitError,
    NotFoundError,
    ProviderError,
    UsageError,
)
from atelier_desk.domain.events.run import LimitKind, ModelReplied, RunStarted, WindowLearned
from atelier_desk.domain.model_messages import ChatReply, ToolCall
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import Dispatch, RunMode, RunStatus
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, Recorder, completed, send_and_wait, status_after, stored_status
from tests.engine.runs.sample_runs import Blocking, agent, start
from tests.helpers.scripted_teams import ask_user, calculate
from tests.helpers.tool_calls import tool_call


async def test_a_turn_with_a_tool_is_streamed_and_stored(open_atelier: Opener) -> None:
    model = ScriptedModel([[calculate("c1", "12*7")], "It is 84."])
    async with open_atelier(model) as atelier:
        events = [event async for event in atelier.run("What is 12*7?", agent=agent())]
        model.assert_complete()
        durable = [event for event in events if event.durable]
        assert [event.seq for event in durable] == list(range(1, len(durable) + 1))
        kinds = [event.chunk_type.value for event in durable]
        assert kinds[:3] == ["workflow_start", "run_status", "message"]
        assert kinds[-2:] == ["run_status", "workflow_complete"]
        end = next(event for event in durable if event.chunk_type is ChunkType.TOOL_END)
        assert end.data["success"] is True
        assert end.data["result"]["result"] == 84
        assert "".join(event.data["content"] for event in events if event.chunk_type is ChunkType.TOKEN) == "It is 84."
        workflow_id = events[0].workflow_id
        messages = await atelier.repos.messages.page(workflow_id)
        assert [(message.role.value, message.content) for message in messages] == [
            ("user", "What is 12*7?"), ("assistant", ""), ("assistant", "It is 84."),
        ]  # fmt: skip
        row = await atelier.repos.workflows.get(workflow_id)
        assert row.stream_seq == len(durable)
        assert row.updated_at == durable[-1].time
        assert row.usage.tokens_output == 16


async def test_conversation_survives_a_restart(open_atelier: Opener) -> None:
    async with open_atelier(["Hello Ada."]) as atelier:
        workflow_id, run_id = await start(atelier, "I am Ada")
        await atelier.runs.wait(run_id)
    model = ScriptedModel(["Ada."])
    async with open_atelier(model) as atelier:
        await send_and_wait(atelier, workflow_id, "Who am I?", agent=agent())
    assert [message.content for message in model.requests[0].messages[1:]] == ["I am Ada", "Hello Ada.", "Who am I?"]


async def test_question_waits_across_a_restart_and_is_answered_once(open_atelier: Opener) -> None:
    async with open_atelier([[ask_user("q1")]]) as atelier:
        _, run_id = await start(atelier)
        assert await status_after(atelier, run_id) is RunStatus.AWAITING_USER
    model = ScriptedModel(["Blue it is."])
    async with open_atelier(model) as atelier:
        assert await atelier.runs.recovery.resume_all() == []
        (question,) = await atelier.questions.pending()
        assert question.spec.question == "Which colour?"
        await atelier.runs.answering.answer_question(question.id, QuestionStatus.ANSWERED, text="blue")
        with pytest.raises(ConflictError):
            await atelier.runs.answering.answer_question(question.id, QuestionStatus.ANSWERED, text="red")
        await completed(atelier, run_id)
        assert await atelier.questions.pending() == []
    result = model.requests[0].messages[-1]
    assert '"textResponse": "blue"' in result.content


async def test_two_questions_of_one_reply_are_both_asked_and_both_awaited(open_atelier: Opener) -> None:
    async with open_atelier([[ask_user("q1", "First?"), ask_user("q2", "Second?")], "thanks"]) as atelier:
        _, run_id = await start(atelier)
        await atelier.runs.wait(run_id)
        first, second = await atelier.questions.pending()
        await atelier.runs.answering.answer_question(first.id, QuestionStatus.SKIPPED)
        assert await status_after(atelier, run_id) is RunStatus.AWAITING_USER
        await atelier.runs.answering.answer_question(second.id, QuestionStatus.ANSWERED, text="yes")
        await completed(atelier, run_id)


async def test_run_ends_its_stream_with_waiting(open_atelier: Opener) -> None:
    async with open_atelier([[ask_user("q1")]]) as atelier:
        events = [event async for event in atelier.run("ask me", agent=agent())]
        assert events[-1].chunk_type is ChunkType.WORKFLOW_COMPLETE
        assert (events[-1].data["status"], events[-1].durable) == ("waiting", False)


async def test_cancel_in_the_middle_of_a_reply_keeps_the_partial_and_is_quick(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(["a long answer that is never finished"], gate=gate)
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await start(atelier)
        await seen.until(ChunkType.TOKEN)
        began = time.perf_counter()
        await atelier.runs.cancel(run_id)
        took = time.perf_counter() - began
        row = await atelier.repos.runs.get(run_id)
        assert row.status is RunStatus.CANCELLED
        messages = await atelier.repos.messages.page(workflow_id)
        assert [message.content for message in messages if message.kind == "cut_off"] == ["a long answer th"]
        assert atelier.runs.live.alive.get(workflow_id) is None
        assert took < 5, "a bound that only a hang breaks; the real figure is in the bench"


async def test_cancel_reaches_the_tool(open_atelier: Opener) -> None:
    tool = Blocking()
    async with open_atelier([[tool_call("blocking")]]) as atelier:
        atelier.registry.register(tool)
        _, run_id = await start(atelier, agent=agent(tools=("blocking",)))
        await tool.running.wait()
        await atelier.runs.cancel(run_id)
        assert tool.cancelled
        (execution,) = await atelier.repos.executions.for_runs([run_id])
        assert execution.status == "cancelled"


async def test_queued_message_is_answered_after_the_turn(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(["first", "second"], gate=gate)
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await start(atelier)
        await seen.until(ChunkType.TOKEN)
        assert await atelier.runs.send(workflow_id, "and more") == run_id
        gate.set()
        await atelier.runs.wait(run_id)
    assert [message.content for message in model.requests[1].messages[1:]] == ["hello", "first", "and more"]


async def test_interrupting_message_stops_the_reply_and_is_answered_at_once(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(["first that is not wanted", "second"], gate=gate)
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await start(atelier)
        await seen.until(ChunkType.TOKEN)
        await atelier.runs.send(workflow_id, "stop, do this", strategy=Dispatch.REDIRECT)
        gate.set()
        await completed(atelier, run_id)
    assert [message.content for message in model.requests[1].messages[1:]] == [
        "hello",
        "first that is no\n\n[This reply was interrupted here.]",
        "stop, do this",
    ]


async def test_interrupting_message_closes_a_pending_question(open_atelier: Opener) -> None:
    async with open_atelier([[ask_user("q1")], "fine"]) as atelier:
        workflow_id, run_id = await start(atelier)
        await atelier.runs.wait(run_id)
        await atelier.runs.send(workflow_id, "never mind", strategy=Dispatch.REDIRECT)
        await completed(atelier, run_id)
        assert await atelier.questions.pending() == []


async def test_terminating_message_ends_the_run_and_starts_another(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(["first", "second"], gate=gate)
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await start(atelier)
        await seen.until(ChunkType.TOKEN)
        other = await atelier.runs.send(workflow_id, "new goal", strategy=Dispatch.TERMINATE)
        gate.set()
        assert other != run_id
        assert await stored_status(atelier, run_id) is RunStatus.CANCELLED
        await completed(atelier, other)


async def test_silent_message_is_read_with_the_next_request(open_atelier: Opener) -> None:
    model = ScriptedModel([[ask_user("q1")], "ok"])
    async with open_atelier(model) as atelier:
        workflow_id, run_id = await start(atelier)
        await atelier.runs.wait(run_id)
        await atelier.runs.send(workflow_id, "for your information", strategy=Dispatch.SILENT)
        assert len(model.requests) == 1
        (question,) = await atelier.questions.pending()
        await atelier.runs.answering.answer_question(question.id, QuestionStatus.ANSWERED, text="x")
        await atelier.runs.wait(run_id)
    assert model.requests[1].messages[-1].content == "for your information"


async def test_pause_takes_effect_between_steps(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([[calculate("c", "1+1")], "two"], gate=gate)
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        _, run_id = await start(atelier)
        await seen.until(ChunkType.RUN_STATUS, status="processing")
        while not model.requests:
            await asyncio.sleep(0)
        await atelier.runs.steering.pause(run_id)
        gate.set()
        assert await status_after(atelier, run_id) is RunStatus.PAUSED
        assert "tool_start" not in seen.kinds()
        await atelier.runs.steering.resume(run_id)
        await completed(atelier, run_id)


async def test_stepping_executes_one_step_at_a_time(open_atelier: Opener) -> None:
    async with open_atelier([[calculate("c", "1+1")], "two"]) as atelier:
        seen = Recorder(atelier)
        _, run_id = await start(atelier, mode=RunMode.STEPPING)
        assert await status_after(atelier, run_id) is RunStatus.PAUSED
        for expected in (["usage"], ["tool_start", "tool_end"]):
            before = len(seen.kinds())
            await atelier.runs.steering.resume(run_id, steps=1)
            assert await status_after(atelier, run_id) is RunStatus.PAUSED
            assert [kind for kind in seen.kinds()[before:] if kind != "run_status"] == expected
        await atelier.runs.steering.resume(run_id, mode=RunMode.AUTO)
        await completed(atelier, run_id)


async def test_limit_pauses_asks_and_continues_when_raised(open_atelier: Opener) -> None:
    limited = agent(max_tool_iterations=1)
    async with open_atelier([[calculate("c", "1+1")], "two"]) as atelier:
        events = [event async for event in atelier.run("go", agent=limited)]
        reached = next(event for event in events if event.chunk_type is ChunkType.LIMIT_REACHED)
        assert reached.data == {"reason": "iterations", "details": {"value": 1.0, "cap": 1.0}}
        assert events[-1].data["status"] == "limited"
        more = [event async for event in atelier.follow(events[0].run_id, raise_limits={LimitKind.ITERATIONS: 5})]
        assert more[-1].data["status"] == "completed"


async def test_finish_at_a_limit_asks_for_a_last_answer_without_tools(open_atelier: Opener) -> None:
    model = ScriptedModel([[calculate("c", "1+1"), calculate("d", "2+2")], "so far: two"])
    async with open_atelier(model) as atelier:
        _, run_id = await start(atelier, agent=agent(budget=Budget(max_tool_calls=1)))
        assert await status_after(atelier, run_id) is RunStatus.PAUSED
        await atelier.runs.steering.resume(run_id, finish=True)
        await completed(atelier, run_id)
    assert model.requests[1].tools == ()


async def test_time_limit_stops_a_reply_in_its_middle(open_atelier: Opener, clock: Any) -> None:
    gate = asyncio.Event()
    async with open_atelier(ScriptedModel(["slow answer"], gate=gate), clock=clock) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await start(atelier, agent=agent(budget=Budget(max_seconds=5)))
        await seen.until(ChunkType.TOKEN)
        await clock.advance(5)
        assert await status_after(atelier, run_id) is RunStatus.PAUSED
        reached = await seen.until(ChunkType.LIMIT_REACHED)
        assert reached.data["reason"] == "time"
        assert [m.content for m in await atelier.repos.messages.page(workflow_id) if m.kind == "cut_off"] == [
            "slow answer"
        ]


async def test_loop_warns_then_pauses(open_atelier: Opener) -> None:
    model = ScriptedModel([[calculate(f"c{number}", "1+1")] for number in range(5)])
    async with open_atelier(model) as atelier:
        events = [event async for event in atelier.run("go", agent=agent())]
        loops = [event.data["reason"] for event in events if event.chunk_type is ChunkType.LOOP_DETECTED]
        assert loops == ["warn", "pause"]
        assert "3 times" in model.requests[3].messages[-1].content


async def test_provider_error_fails_visibly_and_can_be_retried(open_atelier: Opener) -> None:
    error = ProviderError("The server {name} cannot be reached.", name="x", code="unreachable", recoverable=True)
    async with open_atelier([error, "back again"]) as atelier:
        events = [event async for event in atelier.run("go", agent=agent())]
        failed = next(event for event in events if event.chunk_type is ChunkType.ERROR)
        assert (failed.data["code"], failed.data["recoverable"]) == ("unreachable", True)
        assert events[-1].data["status"] == "error"
        again = [event async for event in atelier.follow(events[0].run_id)]
        assert again[-1].data["status"] == "completed"


async def test_overflow_leads_to_compaction_and_one_retry(open_atelier: Opener) -> None:
    overflow = ContextOverflowError("too long", n_ctx=4096, n_prompt=6000, status=400)
    async with open_atelier([overflow, "fits now"]) as atelier:
        workflow_id, run_id = await start(atelier, "word " * 1500, agent=agent(tools=("CalculatorTool",)))
        await completed(atelier, run_id)
        bodies = [event.body for event in await run_events(atelier.repos, run_id)]
        assert [body.context_window for body in bodies if isinstance(body, WindowLearned)] == [4096]
        streamed = [event async for event in atelier.runs.replay(workflow_id)]
        [said] = [event.payload for event in streamed if event.chunk_type is ChunkType.NOTICE]
        assert isinstance(said, payloads.TextNotice)
        [row] = [
            each.message for each in await atelier.workflows.transcript(workflow_id) if each.message.kind == "notice"
        ]
        assert (row.id, row.details) == (said.message_id, said.details)
        assert row.details["values"] == {"context_window": 4096}
        assert atelier.environment.calibration(agent()).factor > 1
    async with open_atelier([overflow, overflow]) as atelier:
        _, run_id = await start(atelier)
        assert await status_after(atelier, run_id) is RunStatus.ERROR


async def test_a_full_context_is_compacted_with_an_event(open_atelier: Opener) -> None:
    long = "word " * 3500
    model = ScriptedModel(
        [*(f"answer {number} {long}" for number in range(8)), "They talked.", *("x" for _ in range(9))]
    )
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await start(atelier, "begin")
        await atelier.runs.wait(run_id)
        for _ in range(8):
            await send_and_wait(atelier, workflow_id, "go on", agent=agent())
            if "context_compacted" in seen.kinds():
                break
        compacted = await seen.until(ChunkType.CONTEXT_COMPACTED)
        assert compacted.data["reason"] in ("summary", "digest")
        assert compacted.data["details"]["dropped"] > 0


async def test_unknown_disabled_and_broken_calls_become_errors_for_the_model(open_atelier: Opener) -> None:
    calls = [
        tool_call("CalculatorTol", "a"),
        tool_call("invoke_tool", "b", tool_name="plan_actions"),
        ToolCall(id="c", name="CalculatorTool", arguments={}, raw="{oops", error="The arguments are not valid JSON."),
    ]
    model = ScriptedModel([calls, "sorry"])
    async with open_atelier(model) as atelier:
        _, run_id = await start(atelier)
        await completed(atelier, run_id)
    # They run in parallel and may end in any order.
    results = {message.tool_call_id: message.content for message in model.requests[1].messages if message.tool_call_id}
    assert "CalculatorTool" in results["a"]
    assert "not available to you" in results["b"]
    assert "not valid JSON" in results["c"]


async def test_invoke_mode_lists_tools_as_text_and_unwraps_the_call(open_atelier: Opener) -> None:
    inner = {"tool_name": "CalculatorTool", "arguments": {"operation": "eval", "expression": "6*7"}}
    model = ScriptedModel([[tool_call("invoke_tool", "a", **inner)], "42"])
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        _, run_id = await start(atelier, agent=agent(tool_mode=ToolMode.INVOKE, tools=("CalculatorTool",)))
        await atelier.runs.wait(run_id)
        begun = await seen.until(ChunkType.TOOL_START)
        assert (begun.data["tool"], begun.data["via"]) == ("CalculatorTool", "invoke_tool")
    names = {tool.name for tool in model.requests[0].tools}
    assert "invoke_tool" in names
    assert "CalculatorTool" not in names
    assert "wait_parent" not in names
    assert "CalculatorTool" in model.requests[0].messages[0].content


async def test_task_complete_and_output_end_and_show(open_atelier: Opener) -> None:
    calls = [
        tool_call("output", "a", content="half way", type="progress"),
        tool_call("task_complete", "b", summary="all done"),
    ]
    async with open_atelier([calls]) as atelier:
        workflow_id, run_id = await start(atelier)
        row = await atelier.runs.wait(run_id)
        assert row.status is RunStatus.COMPLETED
        messages = await atelier.repos.messages.page(workflow_id)
        assert [message.content for message in messages if message.kind == "output"] == ["half way", "all done"]
        assert messages[-1].content == "all done"


async def test_open_task_is_asked_about_once(open_atelier: Opener) -> None:
    create = tool_call("TodoTool", "a", operation="create", name="write tests")
    model = ScriptedModel([[create], "I am done.", "Yes, really."])
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await start(atelier)
        await completed(atelier, run_id)
        assert "task_create" in seen.kinds()
        assert [task.name for task in await atelier.repos.tasks.list(workflow_id)] == ["write tests"]
    assert "write tests" in model.requests[2].messages[-1].content


async def test_an_interrupted_run_continues_after_a_restart(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    async with open_atelier(ScriptedModel([[calculate("c", "1+1")], "never finished"], gate=gate)) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await start(atelier)
        gate.set()
        await seen.until(ChunkType.TOOL_END)
        gate.clear()
        await seen.until(ChunkType.TOKEN)
    model = ScriptedModel(["two"])
    async with open_atelier(model) as atelier:
        assert atelier.runs.live.alive.get(workflow_id) == run_id
        assert await atelier.runs.recovery.resume_all() == [run_id]
        await completed(atelier, run_id)
    assert [message.role.value for message in model.requests[0].messages] == ["system", "user", "assistant", "tool"]


async def test_an_interrupted_call_is_not_repeated(open_atelier: Opener) -> None:
    tool = Blocking()
    async with open_atelier([[tool_call("blocking")]]) as atelier:
        atelier.registry.register(tool)
        _, run_id = await start(atelier, agent=agent(tools=("blocking",)))
        await tool.running.wait()
    model = ScriptedModel(["I will check."])
    again = Blocking()
    async with open_atelier(model) as atelier:
        atelier.registry.register(again)
        await atelier.runs.recovery.resume_all()
        await completed(atelier, run_id)
        assert not again.running.is_set()
        (execution,) = await atelier.repos.executions.for_runs([run_id])
        assert execution.status == "unknown"
    assert "effect is unknown" in model.requests[0].messages[-1].content


async def test_the_number_of_parallel_runs_is_limited(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(["x"] * 5, gate=gate)
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        runs = [await start(atelier) for _ in range(5)]
        await seen.until(ChunkType.TOKEN)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(model.requests) <= 3
        await atelier.runs.cancel(runs[4][1])
        assert await stored_status(atelier, runs[4][1]) is RunStatus.CANCELLED
        gate.set()
        for _, run_id in runs[:4]:
            await completed(atelier, run_id)


async def test_a_run_continues_without_a_section_that_no_longer_exists(open_atelier: Opener) -> None:
    model = ScriptedModel(["Hello."])
    async with open_atelier(model) as atelier:
        _, run_id = await start(atelier, agent=agent(tools=("CalculatorTool",), sections=("mcp:gone",)))
        await completed(atelier, run_id)
    assert [tool.name for tool in model.requests[0].tools if not atelier.registry.is_control_tool(tool.name)] == [
        "CalculatorTool"
    ]


async def test_invalid_messages_are_refused(open_atelier: Opener) -> None:
    async with open_atelier([]) as atelier:
        workflow = await atelier.workflows.create()
        with pytest.raises(UsageError, match="empty"):
            await atelier.runs.send(workflow.id, "  \n", agent=agent())
        with pytest.raises(LimitError, match="100001 characters"):
            await atelier.runs.send(workflow.id, "x" * 100_001, agent=agent())
        with pytest.raises(NotFoundError):
            await atelier.runs.send("nothing", "hello", agent=agent())


async def test_steering_an_ended_run_is_refused(open_atelier: Opener) -> None:
    async with open_atelier(["done"]) as atelier:
        _, run_id = await start(atelier)
        await atelier.runs.wait(run_id)
        with pytest.raises(ConflictError, match="ended"):
            await atelier.runs.steering.pause(run_id)
        with pytest.raises(ConflictError, match="ended"):
            await atelier.runs.steering.resume(run_id)
        await atelier.runs.cancel(run_id)
        assert await stored_status(atelier, run_id) is RunStatus.COMPLETED


async def test_call_ids_are_unique_in_a_run(open_atelier: Opener) -> None:
    async with open_atelier([[calculate("call_0", "1+1")], [calculate("call_0", "2+2")], "done"]) as atelier:
        _, run_id = await start(atelier)
        await atelier.runs.wait(run_id)
        executions = await atelier.repos.executions.for_runs([run_id])
        assert len({execution.call_id for execution in executions}) == 2
        assert [execution.result["result"] for execution in executions] == [2, 4]


async def test_journal_records_the_agent_as_it_was(open_atelier: Opener) -> None:
    async with open_atelier([ChatReply(content="hi", model="m")]) as atelier:
        _, run_id = await start(atelier, agent=agent(system_prompt="Be kind."))
        await atelier.runs.wait(run_id)
        bodies = [event.body for event in await run_events(atelier.repos, run_id)]
        assert isinstance(bodies[0], RunStarted)
        assert bodies[0].agent.system_prompt == "Be kind."
        replied = next(body for body in bodies if isinstance(body, ModelReplied))
        assert replied.usage.estimated
