"""Faulty replies, from the protocol of each kind of server to journal and events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.events.run import ModelReplied, ReplyCutOff
from atelier_desk.domain.model_messages import ChatDelta, ChatRequest, FinishReason, ReplyDone, TextDelta, ToolCallDelta
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, Recorder, send_and_wait, status_after
from tests.engine.runs.runs_on_fake_servers import (
    SERVERS,
    agent,
    is_chat,
    last_message,
    of,
    rows,
    run,
    run_on,
    talk_of,
    world,
)
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.mistral import FakeMistral
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Call, Failure, Reply, Request, Response


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(text="The first of three", finish="length"), "length"),
        (Reply(text=""), "empty"),
        (Reply(reasoning="I should answer."), "empty"),
    ],
)
async def test_an_incomplete_reply_is_reported_everywhere(
    kind: str, reply: Reply, expected: str, tmp_path: Path
) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        if isinstance(server, FakeMistral):
            server.listed_content = bool(reply.reasoning)
        server.script(reply)
        events = await run(atelier)
        said = last_message(events)
        assert (said["role"], said["content"], said["finish_reason"]) == ("assistant", reply.text, expected)
        assert {key: events[-1].data.get(key) for key in ("status", "finish_reason")} == {
            "status": "completed",
            "finish_reason": expected,
        }
        kept = await run_events(atelier.repos, events[0].run_id)
        assert [e.body.reply.finish_reason for e in kept if isinstance(e.body, ModelReplied)] == [
            FinishReason(expected)
        ]
        row = (await rows(atelier, events))[-1]
        assert (row.content, row.reasoning, row.details) == (reply.text, reply.reasoning, {"finish_reason": expected})


@pytest.mark.parametrize("kind", ["openai", "mistral", "anthropic", "google", "responses"])
async def test_a_filtered_reply(kind: str, tmp_path: Path) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        server.script(Reply(text="", finish="content_filter"))
        events = await run(atelier)
    assert (last_message(events)["finish_reason"], events[-1].data["finish_reason"]) == (
        "content_filter",
        "content_filter",
    )


@pytest.mark.parametrize("kind", SERVERS)
async def test_continuing_sends_the_partial_reply_and_a_message(kind: str, tmp_path: Path) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        server.script(Reply(text="One, two,", finish="length"), Reply(text=""), Reply(text=" three."))
        first = await run(atelier)
        workflow_id = first[0].workflow_id
        for words in ("Continue exactly where you stopped.", "Your last reply was empty. Please answer."):
            await send_and_wait(atelier, workflow_id, words, agent=agent())
        talked = talk_of(server.requests[-1].json)
        shown = [entry.message for entry in await atelier.workflows.transcript(workflow_id)]
    # No server accepts an empty answer, so the two messages around it are merged.
    assert [role for role, _text in talked] == ["user", "assistant", "user"]
    assert talked[1][1] == "One, two,"
    assert "where you stopped" in talked[2][1]
    assert "was empty" in talked[2][1]
    assert [(row.content, row.details) for row in shown][-1] == (" three.", {})


@pytest.mark.parametrize("kind", SERVERS)
async def test_the_next_message_sends_what_a_stopped_reply_had_said(kind: str, tmp_path: Path) -> None:
    said = "Red, orange, yellow, green, blue, indigo, violet."
    async with world(kind, tmp_path) as (server, atelier):
        server.script(Reply(text=said, hold_after=7, gate=asyncio.Event()), Reply(text="Green, blue."))
        workflow = await atelier.workflows.create()
        seen = Recorder(atelier)
        stopped = await atelier.runs.send(workflow.id, "List the colours", agent=agent())
        await seen.until(ChunkType.TOKEN)
        await atelier.runs.cancel(stopped)
        await send_and_wait(atelier, workflow.id, "go on", agent=agent())
        talked = talk_of([each for each in server.requests if is_chat(each)][-1].json)
        (cut,) = [e.body.content for e in await run_events(atelier.repos, stopped) if isinstance(e.body, ReplyCutOff)]
    assert cut
    assert said.startswith(cut)
    # Alternating, with the user last, as every server requires.
    assert talked == [
        ("user", "List the colours"),
        ("assistant", f"{cut.rstrip()}\n\n[This reply was interrupted here.]"),
        ("user", "go on"),
    ]


async def test_a_reply_that_broke_off_for_good_is_sent_with_the_next_message(tmp_path: Path) -> None:
    cut = Reply(text="It is a long story", cut_after=3)
    async with world("openai", tmp_path, clock=(clock := ManualClock())) as (server, atelier):
        server.script(cut, cut, cut, Reply(text="Short."))
        failed = await run_on(clock, atelier)
        assert failed[-1].data["status"] == "error"
        await send_and_wait(atelier, failed[0].workflow_id, "shorten that", agent=agent())
        first, answer, second = talk_of(server.requests[-1].json)
    assert (first, second) == (("user", "go"), ("user", "shorten that"))
    assert answer[0] == "assistant"
    assert answer[1].count("It is") == 1, "only the last attempt"
    assert answer[1].endswith("[This reply was interrupted here.]")


async def test_a_complete_reply_is_reported_as_complete(open_atelier: Opener) -> None:
    async with open_atelier(["Done."]) as atelier:
        events = await run(atelier, provider="local", model="scripted")
        assert last_message(events)["finish_reason"] == "stop"
        assert "finish_reason" not in events[-1].data
        assert (await rows(atelier, events))[-1].details == {}


@pytest.mark.parametrize("kind", SERVERS)
async def test_a_dropped_connection_is_retried_at_most_twice(kind: str, tmp_path: Path, clock: ManualClock) -> None:
    cut = Reply(text="It is a long story", cut_after=3)
    async with world(kind, tmp_path, clock=clock) as (server, atelier):
        server.script(cut, cut, Reply(text="It is short."))
        events = await run_on(clock, atelier)
        assert events[-1].data == {"status": "completed"}
        assert [data["details"]["attempt"] for data in of(events, ChunkType.RETRY)] == [2, 3]
        bodies = [event.body for event in await run_events(atelier.repos, events[0].run_id)]
        partial = [body for body in bodies if isinstance(body, ReplyCutOff)]
        assert [bool(body.content) and "It is a long story".startswith(body.content) for body in partial] == [
            True,
            True,
        ]
        # The later transcript equals what was shown live, with the same order and names.
        shown = [(row.kind, row.id) for row in await rows(atelier, events)]
        assert [kind for kind, _id in shown] == ["queue", "cut_off", "retry", "cut_off", "retry", "reply"]
        assert [id for kind, id in shown if kind == "retry"] == [
            data["message_id"] for data in of(events, ChunkType.RETRY)
        ]
        server.script(cut, cut, cut)
        events = await run_on(clock, atelier)
        assert events[-1].data["status"] == "error"
        assert of(events, ChunkType.ERROR)[0]["code"] == "truncated"


async def test_a_retry_by_a_person_gets_all_attempts(open_atelier: Opener, clock: ManualClock) -> None:
    class Dropping(ScriptedModel):
        async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
            async for delta in super().stream(request):
                yield delta
                if len(self.requests) < 6:
                    raise ProviderError("cut", code="truncated", recoverable=True)

    model = Dropping(["Hello there, it is a long answer."] * 6)
    async with open_atelier(model, clock=clock) as atelier:
        events = await run_on(clock, atelier, provider="local", model="scripted")
        assert (events[-1].data["status"], len(model.requests)) == ("error", 3)
        follow = asyncio.ensure_future(anext(aiter(atelier.follow(events[0].run_id))))
        while len(model.requests) < 6:
            await (clock.advance(1) if clock.sleepers else asyncio.sleep(0))
        await follow
        assert (await status_after(atelier, events[0].run_id)).value == "completed"


@pytest.mark.parametrize("kind", ["text", "call"])
async def test_usage_of_an_interrupted_reply_counts(open_atelier: Opener, clock: ManualClock, kind: str) -> None:
    """Against the run's limits, and in every total: the next attempt gets the remainder."""

    class Dropping(ScriptedModel):
        async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
            async for delta in super().stream(request):
                if len(self.requests) == 1 and isinstance(delta, ReplyDone):
                    raise ProviderError("cut", code="truncated", recoverable=True)
                if len(self.requests) == 1 and kind == "call":
                    assert isinstance(delta, TextDelta)
                    yield ToolCallDelta(index=0, name="CalculatorTool", arguments=delta.content)
                else:
                    yield delta

    model = Dropping(["A long answer. " * 40, "Short."])
    async with open_atelier(model, clock=clock) as atelier:
        events = await run_on(
            clock, atelier, provider="local", model="scripted", max_tokens=8000, budget=Budget(max_tokens=8000)
        )
        assert events[-1].data["status"] == "completed"
        bodies = [event.body for event in await run_events(atelier.repos, events[0].run_id)]
        (cut,) = [body.usage for body in bodies if isinstance(body, ReplyCutOff)]
        (whole,) = [body.usage for body in bodies if isinstance(body, ModelReplied)]
        assert cut.estimated
        assert cut.tokens_input > 0
        assert cut.tokens_output > 100
        first, second = (request.max_tokens for request in model.requests)
        assert first - second == cut.tokens_input + cut.tokens_output
        row = await atelier.repos.runs.get(events[0].run_id)
        assert row.usage.tokens_input == cut.tokens_input + whole.tokens_input
        assert of(events, ChunkType.USAGE)[-1]["team"]["tokens_output"] == cut.tokens_output + whole.tokens_output
        kinds = [row.kind for row in await rows(atelier, events)]
        assert kinds == ["queue", *(["cut_off"] if kind == "text" else []), "retry", "reply"]


async def test_usage_of_a_stopped_reply_counts_once(open_atelier: Opener, clock: ManualClock) -> None:
    class Dropping(ScriptedModel):
        async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
            async for delta in super().stream(request):
                yield delta
                raise ProviderError("cut", code="truncated", recoverable=True)

    async with open_atelier(Dropping(["Hello there."]), clock=clock) as atelier:
        workflow = await atelier.workflows.create()
        seen = Recorder(atelier)
        run_id = await atelier.runs.send(workflow.id, "go", agent=agent(provider="local", model="scripted"))
        await seen.until(ChunkType.RETRY)
        await atelier.runs.cancel(run_id)
        bodies = [event.body for event in await run_events(atelier.repos, run_id)]
        (cut,) = [body.usage for body in bodies if isinstance(body, ReplyCutOff)]
        assert (await atelier.repos.runs.get(run_id)).usage.tokens_input == cut.tokens_input > 0


async def test_a_sub_agent_waits_as_long_for_a_loading_model(tmp_path: Path, clock: ManualClock) -> None:
    loading = Failure(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
    spawn = Call("SpawnAgentTool", {"operation": "spawn", "name": "Helper", "prompt": "Do it."}, id="abcdef123")
    async with world("openai", tmp_path, clock=clock) as (server, atelier):
        # Time passes while the sockets are active, too.
        await atelier.settings.update(inactivity_s=3600)
        server.script(Reply(calls=(spawn,)), *[loading] * 12, Reply(text="It is done."), Reply(text="All is done."))
        events = await run_on(clock, atelier, tools=("SpawnAgentTool",), approval="auto")
        (end,) = of(events, ChunkType.TOOL_END)
    assert (end["success"], end["result"]["report"]) == (True, "It is done.")
    assert events[-1].data["status"] == "completed"


class Pinging(FakeOpenAI):
    """Starts its first reply, then sends only comments, one each time ``tick`` is set; the next reply follows the
    script.
    """

    def __init__(self, begin: bool) -> None:
        super().__init__()
        self.tick = asyncio.Event()
        self.pings = self.asked = 0
        self._begin = begin

    async def chat(self, request: Request, out: Response) -> None:
        self.asked += 1
        if self.asked > 1:
            await super().chat(request, out)
            return

        async def pieces() -> AsyncIterator[bytes]:
            if self._begin:
                yield b'data: {"choices": [{"index": 0, "delta": {"content": "Once"}}]}\n\n'
            while True:
                await self.tick.wait()
                self.tick.clear()
                self.pings += 1
                yield b": ping\n\n"

        out._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        async for piece in pieces():
            out._writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await out._writer.drain()


@pytest.mark.parametrize("begin", [False, True])
async def test_comments_do_not_keep_a_silent_reply_alive(begin: bool, tmp_path: Path, clock: ManualClock) -> None:
    server = Pinging(begin)
    async with world("openai", tmp_path, server, clock=clock) as (_server, atelier):
        await atelier.settings.update(inactivity_s=40)
        server.script(Reply(text="It speaks again."))
        seen = Recorder(atelier)

        def begun() -> bool:
            server.tick.set()
            # It has sent its first word, or has none.
            return server.pings > 0 and (not begin or "token" in [event.chunk_type.value for event in seen.events])

        events = await run_on(clock, atelier, begun)
        (retry,) = of(events, ChunkType.RETRY)
        assert "40 seconds" in retry["reason"]
        assert last_message(events)["content"] == "It speaks again."
        assert clock.monotonic() >= 40
        assert server.pings > 5
        kinds = [row.kind for row in await rows(atelier, events)]
        assert ("cut_off" in kinds) is begin


@pytest.mark.parametrize("kind", SERVERS)
async def test_a_server_that_never_answers_gets_the_configured_time(
    kind: str, tmp_path: Path, clock: ManualClock
) -> None:
    async with world(kind, tmp_path, clock=clock) as (server, atelier):
        await atelier.settings.update(inactivity_s=30)
        server.script(*[Failure(hang=True)] * 3)
        events = await run_on(clock, atelier)
        assert "30 seconds" in of(events, ChunkType.ERROR)[0]["message"]
        assert len(of(events, ChunkType.RETRY)) == 2
        assert clock.monotonic() >= 90


@pytest.mark.parametrize("kind", SERVERS)
async def test_after_a_timeout_the_reply_of_a_recovered_server_is_used(
    kind: str, tmp_path: Path, clock: ManualClock
) -> None:
    async with world(kind, tmp_path, clock=clock) as (server, atelier):
        await atelier.settings.update(inactivity_s=30)
        server.script(Failure(hang=True), Reply(text="It speaks again."))
        events = await run_on(clock, atelier)
        assert not of(events, ChunkType.ERROR)
        assert [each["content"] for each in of(events, ChunkType.MESSAGE)][-1] == "It speaks again."
        assert clock.monotonic() >= 30
