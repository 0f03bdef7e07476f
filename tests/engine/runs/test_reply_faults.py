"""Replies that go wrong, from the wire of each kind of server to what the journal and the events say."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, Budget
from atelier_desk.domain.chat import (
    LOADING,
    ChatReply,
    ChatRequest,
    FinishReason,
    ImagePart,
    ReplyDone,
    RetryDelta,
    TextDelta,
    ToolCallDelta,
)
from atelier_desk.domain.errors import NotFoundError, ProviderError
from atelier_desk.domain.events.run import ModelReplied, ReplyCutOff
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal import run_events
from atelier_desk.engine.notice_words import go_on_words, retry_words, unfinished_words
from atelier_desk.llm.scripted import ScriptedModel
from atelier_desk.llm.secrets import KeyVault
from tests.engine.conftest import Opener, Recorder
from tests.support.clock import ManualClock
from tests.support.pictures import png
from tests.support.servers.anthropic import FakeAnthropic
from tests.support.servers.base import Call, Failure, Reply, Request, Response
from tests.support.servers.google import FakeGoogle
from tests.support.servers.mistral import FakeMistral
from tests.support.servers.ollama import FakeOllama
from tests.support.servers.openai import FakeOpenAI
from tests.support.servers.responses import FakeResponses

CALCULATE = Call("CalculatorTool", {"operation": "eval", "expression": "12*7"}, id="abcdef123")
SERVERS: dict[str, type[Any]] = {
    "openai": FakeOpenAI,
    "mistral": FakeMistral,
    "ollama": FakeOllama,
    "anthropic": FakeAnthropic,
    "google": FakeGoogle,
    "responses": FakeResponses,
}


def agent(**changes: Any) -> AgentConfig:
    return AgentConfig(**{"name": "A", "provider": "server", "model": "test-model", **changes})


@asynccontextmanager
async def world(kind: str, tmp_path: Path, server: Any = None, **options: Any) -> AsyncIterator[tuple[Any, Atelier]]:
    async with (
        server or SERVERS[kind]() as server,
        Atelier.open(tmp_path / "data", fsync=False, vault=KeyVault(environ={}), **options) as atelier,
    ):
        await atelier.providers.save(ProviderConfig(name="server", kind=kind, base_url=server.url))
        yield server, atelier


async def run(atelier: Atelier, text: str = "go", **changes: Any) -> list[StreamEvent]:
    images = changes.pop("images", ())
    return [event async for event in atelier.run(text, agent=agent(**changes), images=images)]


async def run_on(clock: ManualClock, atelier: Atelier, each: Callable[[], bool] = lambda: True, **changes: Any) -> list[StreamEvent]:
    """The same while time passes, but only when somebody waits for it and ``each`` says so: real sockets are at work in between."""
    running = asyncio.create_task(run(atelier, **changes))
    while not running.done():
        on = each()
        await asyncio.sleep(0)
        await (clock.advance(0.2) if on and clock.sleepers else asyncio.sleep(0))
    return await running


def of(events: list[StreamEvent], kind: ChunkType) -> list[dict[str, Any]]:
    return [event.data for event in events if event.chunk_type is kind]


def last_message(events: list[StreamEvent]) -> dict[str, Any]:
    return of(events, ChunkType.MESSAGE)[-1]


def talk_of(body: dict[str, Any]) -> list[tuple[str, str]]:
    """Roles and texts of a request, whatever the kind of server calls them; without a system prompt."""
    said = [
        (each["role"], each.get("content", each.get("parts"))) for each in body.get("messages") or body.get("contents") or body["input"]
    ]
    texts = [(role, text if isinstance(text, str) else "".join(part["text"] for part in text)) for role, text in said]
    return [("assistant" if role == "model" else role, text) for role, text in texts if role != "system"]


def is_chat(request: Request) -> bool:
    return bool(request.body and {"messages", "contents", "input"} & set(request.json))


async def rows(atelier: Atelier, events: list[StreamEvent]) -> list[Any]:
    return [entry.message for entry in await atelier.workflows.transcript(events[0].workflow_id)]


# -- replies that are not whole ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(text="The first of three", finish="length"), "length"),
        (Reply(text=""), "empty"),
        (Reply(reasoning="I should answer."), "empty"),
    ],
)
async def test_a_reply_that_is_not_whole_is_said_everywhere(kind: str, reply: Reply, expected: str, tmp_path: Path) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        if isinstance(server, FakeMistral):
            server.listed_content = bool(reply.reasoning)
        server.script(reply)
        events = await run(atelier)
        said = last_message(events)
        assert (said["role"], said["content"], said["finish_reason"]) == ("assistant", reply.text, expected)
        assert {key: events[-1].data.get(key) for key in ("status", "finish_reason")} == {"status": "completed", "finish_reason": expected}
        kept = await run_events(atelier.repos, events[0].run_id)
        assert [e.body.reply.finish_reason for e in kept if isinstance(e.body, ModelReplied)] == [FinishReason(expected)]
        row = (await rows(atelier, events))[-1]
        assert (row.content, row.reasoning, row.details) == (reply.text, reply.reasoning, {"finish_reason": expected})


@pytest.mark.parametrize("kind", ["openai", "mistral", "anthropic", "google", "responses"])
async def test_a_filtered_reply(kind: str, tmp_path: Path) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        server.script(Reply(text="", finish="content_filter"))
        events = await run(atelier)
    assert (last_message(events)["finish_reason"], events[-1].data["finish_reason"]) == ("content_filter", "content_filter")


@pytest.mark.parametrize("kind", SERVERS)
async def test_going_on_sends_what_there_is_and_a_message(kind: str, tmp_path: Path) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        server.script(Reply(text="One, two,", finish="length"), Reply(text=""), Reply(text=" three."))
        first = await run(atelier)
        workflow_id = first[0].workflow_id
        for words in ("Go on exactly where you stopped.", "Your last reply was empty. Please answer."):
            await atelier.runs.wait(await atelier.runs.send(workflow_id, words, agent=agent()))
        talked = talk_of(server.requests[-1].json)
        shown = [entry.message for entry in await atelier.workflows.transcript(workflow_id)]
    # No server takes an empty answer, so the two messages around it are one.
    assert [role for role, _text in talked] == ["user", "assistant", "user"]
    assert talked[1][1] == "One, two,"
    assert "where you stopped" in talked[2][1]
    assert "was empty" in talked[2][1]
    assert [(row.content, row.details) for row in shown][-1] == (" three.", {})


async def test_a_whole_reply_says_so_too(open_atelier: Opener) -> None:
    async with open_atelier(["Done."]) as atelier:
        events = await run(atelier, provider="local", model="scripted")
        assert last_message(events)["finish_reason"] == "stop"
        assert "finish_reason" not in events[-1].data
        assert (await rows(atelier, events))[-1].details == {}


# -- connections that drop -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SERVERS)
async def test_a_dropped_connection_is_mended_twice_and_no_more(kind: str, tmp_path: Path, clock: ManualClock) -> None:
    cut = Reply(text="It is a long story", cut_after=3)
    async with world(kind, tmp_path, clock=clock) as (server, atelier):
        server.script(cut, cut, Reply(text="It is short."))
        events = await run_on(clock, atelier)
        assert events[-1].data == {"status": "completed"}
        assert [data["details"]["attempt"] for data in of(events, ChunkType.RETRY)] == [2, 3]
        bodies = [event.body for event in await run_events(atelier.repos, events[0].run_id)]
        partial = [body for body in bodies if isinstance(body, ReplyCutOff)]
        assert [bool(body.content) and "It is a long story".startswith(body.content) for body in partial] == [True, True]
        # What is shown afterwards is what was shown live, in the same order and under the same names.
        shown = [(row.kind, row.id) for row in await rows(atelier, events)]
        assert [kind for kind, _id in shown] == ["queue", "cut_off", "retry", "cut_off", "retry", "reply"]
        assert [id for kind, id in shown if kind == "retry"] == [data["message_id"] for data in of(events, ChunkType.RETRY)]
        server.script(cut, cut, cut)
        events = await run_on(clock, atelier)
        assert events[-1].data["status"] == "error"
        assert of(events, ChunkType.ERROR)[0]["code"] == "truncated"


async def test_a_person_who_tries_again_gets_all_attempts(open_atelier: Opener, clock: ManualClock) -> None:
    class Dropping(ScriptedModel):
        async def stream(self, request: Any) -> AsyncIterator[Any]:
            async for delta in super().stream(request):
                yield delta
                if len(self.requests) < 6:
                    raise ProviderError("cut", code="truncated", recoverable=True)

    model = Dropping(["Hello there, it is a long answer."] * 6)
    async with open_atelier(model, clock=clock) as atelier:
        events = await run_on(clock, atelier, provider="local", model="scripted")
        assert (events[-1].data["status"], len(model.requests)) == ("error", 3)
        follow = asyncio.create_task(anext(aiter(atelier.follow(events[0].run_id))))
        while len(model.requests) < 6:
            await (clock.advance(1) if clock.sleepers else asyncio.sleep(0))
        await follow
        assert (await atelier.runs.wait(events[0].run_id)).status.value == "completed"


@pytest.mark.parametrize("kind", ["text", "call"])
async def test_what_a_cut_reply_used_counts(open_atelier: Opener, clock: ManualClock, kind: str) -> None:
    """Against the run's caps, and in every sum: the next attempt gets what is left."""

    class Dropping(ScriptedModel):
        async def stream(self, request: Any) -> AsyncIterator[Any]:
            async for delta in super().stream(request):
                if len(self.requests) == 1 and isinstance(delta, ReplyDone):
                    raise ProviderError("cut", code="truncated", recoverable=True)
                if len(self.requests) == 1 and kind == "call":
                    yield ToolCallDelta(index=0, name="CalculatorTool", arguments=delta.content)
                else:
                    yield delta

    model = Dropping(["A long answer. " * 40, "Short."])
    async with open_atelier(model, clock=clock) as atelier:
        events = await run_on(clock, atelier, provider="local", model="scripted", max_tokens=8000, budget=Budget(max_tokens=8000))
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


async def test_what_a_stopped_reply_used_counts_once(open_atelier: Opener, clock: ManualClock) -> None:
    class Dropping(ScriptedModel):
        async def stream(self, request: Any) -> AsyncIterator[Any]:
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


async def test_a_sub_agent_waits_as_long_for_a_model_that_loads(tmp_path: Path, clock: ManualClock) -> None:
    loading = Failure(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
    spawn = Call("SpawnAgentTool", {"operation": "spawn", "name": "Helper", "prompt": "Do it."}, id="abcdef123")
    async with world("openai", tmp_path, clock=clock) as (server, atelier):
        # Time passes while the sockets are at work, too.
        await atelier.settings.update(inactivity_s=3600)
        server.script(Reply(calls=(spawn,)), *[loading] * 12, Reply(text="It is done."), Reply(text="All is done."))
        events = await run_on(clock, atelier, tools=("SpawnAgentTool",), approval="auto")
        (end,) = of(events, ChunkType.TOOL_END)
    assert (end["success"], end["result"]["report"]) == (True, "It is done.")
    assert events[-1].data["status"] == "completed"


# -- silence -------------------------------------------------------------------------------------------------------------------------


class Pinging(FakeOpenAI):
    """Begins its first reply, then sends comments alone, one each time ``tick`` is set; the next one is as the script says."""

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
            # Its first word is there, or it has none.
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
async def test_a_server_that_never_answers_is_given_the_time_of_the_setting(kind: str, tmp_path: Path, clock: ManualClock) -> None:
    async with world(kind, tmp_path, clock=clock) as (server, atelier):
        await atelier.settings.update(inactivity_s=30)
        server.script(*[Failure(hang=True)] * 3)
        events = await run_on(clock, atelier)
        assert "30 seconds" in of(events, ChunkType.ERROR)[0]["message"]
        assert len(of(events, ChunkType.RETRY)) == 2
        assert clock.monotonic() >= 90


@pytest.mark.parametrize("kind", SERVERS)
async def test_after_a_silence_the_reply_of_a_server_that_speaks_again_is_taken(kind: str, tmp_path: Path, clock: ManualClock) -> None:
    async with world(kind, tmp_path, clock=clock) as (server, atelier):
        await atelier.settings.update(inactivity_s=30)
        server.script(Failure(hang=True), Reply(text="It speaks again."))
        events = await run_on(clock, atelier)
        assert not of(events, ChunkType.ERROR)
        assert [each["content"] for each in of(events, ChunkType.MESSAGE)][-1] == "It speaks again."
        assert clock.monotonic() >= 30


# -- servers that take no tools ------------------------------------------------------------------------------------------------------

REFUSALS = {
    "openai": {"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'}},
    "mistral": {"object": "error", "message": "Function calling is not enabled for this model", "type": "invalid_request"},
    "ollama": {"error": "registry.ollama.ai/library/test-model does not support tools"},
    "anthropic": {"type": "error", "error": {"type": "invalid_request_error", "message": "tools: Extra inputs are not permitted"}},
    "google": {"error": {"code": 400, "message": "Function calling is not enabled for models/test-model", "status": "INVALID_ARGUMENT"}},
    "responses": {"error": {"message": "Unknown parameter: 'tools'.", "type": "invalid_request_error", "param": "tools"}},
}
WRITTEN = '<tool_call name="CalculatorTool">{"operation": "eval", "expression": "12*7"}</tool_call>'


@pytest.mark.parametrize("kind", SERVERS)
async def test_refused_tools_are_written_as_text_and_that_is_remembered(kind: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"tools": ("CalculatorTool",), "tool_dialect": "native"}
    async with world(kind, tmp_path) as (server, atelier):
        server.script(Failure(400, REFUSALS[kind]), Reply(text=WRITTEN), Reply(text="It is 84."))
        events = await run(atelier, **options)
        assert (events[-1].data["status"], last_message(events)["content"]) == ("completed", "It is 84.")
        assert of(events, ChunkType.TOOL_END)[0]["result"]["result"] == 84
        (retry,) = of(events, ChunkType.RETRY)
        assert retry["reason"] == "tools_refused"
        assert retry["details"]["message"] in str(REFUSALS[kind])
        assert [row.details["reason"] for row in await rows(atelier, events) if row.kind == "retry"] == ["tools_refused"]
        chats = [request.json for request in server.requests if is_chat(request)]
        assert [bool(chat.get("tools")) for chat in chats] == [True, False, False]
        known = await atelier.models.info("server", "test-model")
        assert (known.supports_tools, known.source) == (False, "learned")
        server.script(Reply(text="Hello."))
        assert (await run(atelier, **options))[-1].data["status"] == "completed"
        assert not server.requests[-1].json.get("tools")
    async with Atelier.open(tmp_path / "data", fsync=False, vault=KeyVault(environ={})) as atelier:
        assert (await atelier.models.info("server", "test-model")).supports_tools is False


ONLY_SOME = "Invalid content type. {} is only supported by certain models."
# Ollama says beforehand which of its models see.
BLIND = {
    "openai": {"error": {"message": ONLY_SOME.format("image_url"), "type": "invalid_request_error"}},
    "mistral": {"object": "error", "message": "Image input is not enabled for this model", "type": "invalid_request_error"},
    "anthropic": {"type": "error", "error": {"type": "invalid_request_error", "message": "This model does not support image input."}},
    "google": {"error": {"code": 400, "message": "Image input modality is not enabled for models/m", "status": "INVALID_ARGUMENT"}},
    "responses": {"error": {"message": ONLY_SOME.format("input_image"), "type": "invalid_request_error"}},
}
PICTURE = ImagePart(media_type="image/png", data=base64.b64encode(png()).decode())


@pytest.mark.parametrize("kind", BLIND)
async def test_a_model_that_refuses_pictures_is_told_of_them_and_that_is_remembered(kind: str, tmp_path: Path) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        server.script(Failure(400, BLIND[kind]), Reply(text="I see none."))
        events = await run(atelier, images=(PICTURE,))
        assert (events[-1].data["status"], last_message(events)["content"]) == ("completed", "I see none.")
        (retry,) = of(events, ChunkType.RETRY)
        assert retry["reason"] == "pictures_refused"
        first, second = [str(request.json) for request in server.requests if is_chat(request)]
        assert PICTURE.data in first
        assert PICTURE.data not in second
        assert "cannot see pictures" in second
        known = await atelier.models.info("server", "test-model")
        assert (known.supports_vision, known.source) == (False, "learned")
        server.script(Reply(text="Still none."))
        assert (await run(atelier, images=(PICTURE,)))[-1].data["status"] == "completed"
        assert PICTURE.data not in str(server.requests[-1].json)


@pytest.mark.parametrize("kind", SERVERS)
async def test_a_temperature_is_sent_when_a_person_set_it_and_else_not(kind: str, tmp_path: Path) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        server.script(*[Reply(text="Well.")] * 2)
        await run(atelier)
        await run(atelier, temperature=0.3, enable_thinking=False)
        first, second = [str(request.json) for request in server.requests if is_chat(request)]
        assert "temperature" not in first
        assert "temperature': 0.3" in second


async def test_a_model_in_a_loop_is_stopped_unless_a_person_says_otherwise(tmp_path: Path) -> None:
    passage = "Let me look into the file once more, and then go on. "
    async with world("openai", tmp_path) as (server, atelier):
        server.script(Reply(text="Well. " + passage * 100), Reply(text="The rest."), Reply(text=passage * 100))
        events = await run(atelier)
        said = last_message(events)
        assert (events[-1].data["status"], said["finish_reason"]) == ("completed", "repetition")
        assert 11 <= said["content"].count(passage.strip()) <= 12, "what was written stays"
        title, text = unfinished_words(said["finish_reason"], content=True, thought=False)
        assert (title, "Settings" in text) == ("The model repeated itself", True)
        words = go_on_words(said["finish_reason"])
        after = [event async for event in atelier.run(words, agent=agent(), workflow_id=events[0].workflow_id)]
        assert last_message(after)["content"] == "The rest."
        await atelier.settings.set("stop_repetition", False)
        whole = last_message(await run(atelier))
        assert (whole["content"], whole.get("finish_reason")) == (passage * 100, "stop")


# What one picture is refused for, in each server's own words: none of them is told to the program beforehand.
ONE_PICTURE = {
    "Anthropic": (400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 7031644 bytes > 5242880 bytes"),
    "Anthropic, side": (400, "At least one of the image dimensions exceed max allowed size: 8000 pixels"),
    "OpenAI": (400, "You uploaded an unsupported image. Please make sure your image is below 20 MB in size"),
    "Groq": (400, "Failed to process image: image too large: maximum pixels allowed is 33177600"),
    "a proxy": (413, "Request Entity Too Large"),
    "xAI": (412, "Image is too large. Max size 10 MiB"),
    "anybody": (422, "Unprocessable"),
}


@pytest.mark.parametrize("words", ONE_PICTURE)
async def test_a_picture_that_is_refused_is_left_out_and_never_sent_to_that_model_again(words: str, tmp_path: Path) -> None:
    status, said = ONE_PICTURE[words]
    named = PICTURE.model_copy(update={"name": "plan.png"})
    async with world("openai", tmp_path) as (server, atelier):
        server.script(Failure(status, {"error": {"message": said}}), Reply(text="I see none."), Reply(text="Still none."))
        events = await run(atelier, images=(named,))
        assert (events[-1].data["status"], last_message(events)["content"]) == ("completed", "I see none.")
        (retry,) = of(events, ChunkType.RETRY)
        assert (retry["reason"], retry["details"]["pictures"]) == ("pictures_left_out", ["plan.png"])
        assert "plan.png" in retry_words(retry["reason"], retry["details"])[0]
        after = [event async for event in atelier.run("and now?", agent=agent(), workflow_id=events[0].workflow_id)]
        assert after[-1].data["status"] == "completed"
        chats = [str(request.json) for request in server.requests if is_chat(request)]
        assert [PICTURE.data in chat for chat in chats] == [True, False, False]
        assert all("'plan.png'" in chat and "did not accept" in chat for chat in chats[1:]), "the model knows of it"
        assert (await atelier.models.info("server", "test-model")).supports_vision is None, "other pictures may be sent"


async def test_a_refusal_that_was_not_about_the_picture_leaves_it_in_the_workflow(tmp_path: Path) -> None:
    other = Failure(400, {"error": {"message": "No."}})
    async with world("openai", tmp_path) as (server, atelier):
        server.script(other, other, Reply(text="I see it."))
        events = await run(atelier, images=(PICTURE,))
        assert of(events, ChunkType.ERROR)[0]["code"] == "bad_request"
        after = [event async for event in atelier.run("again", agent=agent(), workflow_id=events[0].workflow_id)]
        assert after[-1].data["status"] == "completed"
        chats = [str(request.json) for request in server.requests if is_chat(request)]
        assert [PICTURE.data in chat for chat in chats] == [True, False, True], "one more request at most"


async def test_a_long_request_that_is_refused_without_a_reason_is_tried_once_shortened(tmp_path: Path) -> None:
    other = Failure(400, {"error": {"message": "No."}})
    async with world("openai", tmp_path) as (server, atelier):
        server.script(other, Reply(text="Shorter."), other, other)
        events = await run(atelier, "some words of a long text " * 3_000)
        assert (events[-1].data["status"], last_message(events)["content"]) == ("completed", "Shorter.")
        sizes = [len(str(request.json)) for request in server.requests if is_chat(request)]
        assert sizes[1] < 0.9 * sizes[0]
        again = await run(atelier, "some words of a long text " * 3_000)
        assert of(again, ChunkType.ERROR)[0]["code"] == "bad_request", "what the server said, and one more request at most"
        short = len([request for request in server.requests if is_chat(request)])
        server.script(other)
        await run(atelier, "short")
        assert len([request for request in server.requests if is_chat(request)]) == short + 1


async def test_that_tools_are_refused_is_said_beside_attempts_of_the_provider(tmp_path: Path, clock: ManualClock) -> None:
    busy = Failure(503, {"error": "busy"})
    async with world("openai", tmp_path, clock=clock) as (server, atelier):
        server.script(busy, Failure(400, REFUSALS["openai"]), busy, Reply(text="Done."))
        events = await run_on(clock, atelier, tools=("CalculatorTool",), tool_dialect="native")
        assert events[-1].data["status"] == "completed"
        reasons = [row.details["reason"] for row in await rows(atelier, events) if row.kind == "retry"]
    assert sorted(reasons) == ["overloaded", "tools_refused"]


async def test_a_server_that_refuses_again_fails_once(tmp_path: Path) -> None:
    async with world("openai", tmp_path) as (server, atelier):
        server.script(Failure(400, REFUSALS["openai"]), Failure(400, REFUSALS["openai"]))
        events = await run(atelier, tools=("CalculatorTool",), tool_dialect="native")
        assert of(events, ChunkType.ERROR)[0]["code"] == "bad_request"
        assert len(of(events, ChunkType.RETRY)) == 1


# -- what servers count --------------------------------------------------------------------------------------------------------------


async def test_the_window_a_server_names_is_kept_with_the_model(tmp_path: Path) -> None:
    overflow = {"error": {"code": 400, "type": "exceed_context_size_error", "message": "too long", "n_prompt_tokens": 6031, "n_ctx": 4096}}
    async with world("openai", tmp_path) as (server, atelier):
        server.script(Failure(400, overflow), Reply(text="Fits."))
        events = await run(atelier, text="word " * 1500)
        assert events[-1].data["status"] == "completed"
        assert of(events, ChunkType.USAGE)[-1]["context_window"] == 4096
    async with Atelier.open(tmp_path / "data", fsync=False, vault=KeyVault(environ={})) as atelier:
        known = await atelier.models.info("server", "test-model")
        assert (known.context_window, known.source) == (4096, "learned")
        assert (await atelier.models.reset("server", "test-model")).context_window != 4096
        with pytest.raises(NotFoundError):
            await atelier.repos.models.get("server", "test-model")


async def test_what_a_person_corrected_stays(tmp_path: Path) -> None:
    async with world("openai", tmp_path) as (_server, atelier):
        await atelier.models.edit("server", "test-model", context_window=9000)
        await atelier.models.learned("server", "test-model", context_window=4096)
        known = await atelier.models.info("server", "test-model")
        assert (known.context_window, known.source) == (9000, "user")


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("wrong", [-5, None, "many", 10**30, 7e9])
async def test_counts_that_cannot_be_used_leave_the_estimate(kind: str, wrong: Any, tmp_path: Path) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        server.script(Reply(text="Hello there.", usage={"prompt_tokens": wrong, "completion_tokens": wrong, "total_tokens": wrong}))
        events = await run(atelier)
    (usage,) = of(events, ChunkType.USAGE)
    assert events[-1].data["status"] == "completed"
    assert usage["estimated"] is True
    assert 0 < usage["tokens_input"] < 10_000
    assert 0 < usage["tokens_output"] < 100


async def test_a_sub_agents_cut_report_does_not_pass_for_a_whole_one() -> None:
    from atelier_desk.engine.run.reducer.steps import Finish, next_step
    from tests.support.runs import Script, reply

    cut = reply("Half a rep")
    body = cut.model_copy(update={"reply": cut.reply.model_copy(update={"finish_reason": FinishReason.LENGTH})})
    step = next_step(Script(parent_run_id="p", depth=1).add(body).state)
    assert isinstance(step, Finish)
    assert step.ending.result.startswith("Half a rep\n\n[This report was cut off")
    own = next_step(Script().add(body).state)
    assert isinstance(own, Finish)
    assert own.ending.result == "Half a rep"
    empty = ModelReplied(reply=ChatReply(finish_reason=FinishReason.EMPTY))
    told = next_step(Script(parent_run_id="p", depth=1).add(empty).state)
    assert isinstance(told, Finish)
    assert told.ending.result == "[The agent ended with an empty reply.]"


async def test_that_a_model_is_loaded_is_an_event_and_no_part_of_the_transcript(open_atelier: Opener) -> None:
    class Loading(ScriptedModel):
        async def stream(self, request: Any) -> AsyncIterator[Any]:
            yield RetryDelta(attempt=1, delay_s=0.0, reason=LOADING)
            async for delta in super().stream(request):
                yield delta

    async with open_atelier(Loading(["Done."])) as atelier:
        events = await run(atelier, provider="local", model="scripted")
        assert [data["reason"] for data in of(events, ChunkType.RETRY)] == ["loading"]
        assert [row.kind for row in await rows(atelier, events)] == ["queue", "reply"]


class Endless:
    """A server that does not keep to ``max_tokens`` and never stops writing."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.written = 0
        self.closed = False

    async def stream(self, request: ChatRequest) -> AsyncIterator[TextDelta]:
        self.asked.append(request.max_tokens)
        try:
            while self.written < 10_000_000:
                self.written += 500
                yield TextDelta(content="word " * 100)
        finally:
            self.closed = True


async def test_a_server_that_never_stops_writing_is_cut_at_what_was_reserved(open_atelier: Opener) -> None:
    model = Endless()
    async with open_atelier(model_factory=lambda _agent: model) as atelier:
        workflow = await atelier.workflows.create()
        run_id = await atelier.runs.send(workflow.id, "go", agent=agent(budget=Budget(max_tokens=8000), tools=()))
        await atelier.runs.wait(run_id)
        said = (await atelier.workflows.transcript(workflow.id))[-1].message
    assert model.closed
    assert model.written < 3 * 3.2 * (model.asked[0] + 200)
    assert said.details == {"finish_reason": "length"}, "cut, and Go on is offered"
    assert said.usage is not None
    assert said.usage.tokens_output > 8000, "what was written beyond it counts"
