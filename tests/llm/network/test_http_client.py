"""Silence times out, cancelling closes connections, keys stay secret."""

from __future__ import annotations

import asyncio
import logging
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from httpcore._backends.anyio import AnyIOStream

import atelier_desk
from atelier_desk.domain.errors import SETTINGS_CHANGED, ProviderError, UsageError
from atelier_desk.domain.model_messages import TextDelta
from atelier_desk.llm.network import http_client
from atelier_desk.llm.network.http_client import HttpClient, Timeouts
from atelier_desk.llm.network.proxy_and_certificates import checked_base_url, is_loopback
from atelier_desk.llm.network.retry import RetryPolicy
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Failure, Reply
from tests.llm.provider_requests import ask, collect, provider, send

SENTINEL = "sk-sentinel-4f9a1c77e2d04b"


@pytest.fixture
def chat(openai_server: FakeOpenAI, clock: ManualClock) -> Any:
    return provider("openai", openai_server.url, clock)


async def test_cancelling_closes_the_connection_at_once(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Reply(text="Hello there", hold_after=2, gate=asyncio.Event()))
    shown = asyncio.Event()

    async def read() -> None:
        async for _delta in chat.stream(ask()):
            shown.set()

    task = asyncio.create_task(read())
    await shown.wait()
    loop = asyncio.get_running_loop()
    start = loop.time()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(openai_server.disconnected.wait(), 5)
    assert openai_server.disconnected_at - start < 0.2


async def test_cancelling_before_the_answer_closes_too(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Failure(hang=True))
    task = asyncio.create_task(collect(chat.stream(ask())))
    while not openai_server.requests:
        await asyncio.sleep(0)
    start = asyncio.get_running_loop().time()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(openai_server.disconnected.wait(), 5)
    assert openai_server.disconnected_at - start < 0.2


async def test_closing_the_iterator_closes_the_connection(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Reply(text="Hello there", hold_after=2, gate=asyncio.Event()))
    stream = chat.stream(ask())
    assert await anext(stream) == TextDelta(content="Hello")
    start = asyncio.get_running_loop().time()
    await stream.aclose()
    await asyncio.wait_for(openai_server.disconnected.wait(), 5)
    assert openai_server.disconnected_at - start < 0.2


async def test_a_reply_that_stalls_is_a_timeout(openai_server: FakeOpenAI, chat: Any, clock: ManualClock) -> None:
    openai_server.script(Reply(text="Hello there", hold_after=2, gate=asyncio.Event()))
    stream = chat.stream(ask())
    await anext(stream)
    rest = asyncio.create_task(collect(stream))
    await clock.settle()
    await clock.advance(Timeouts().idle_s - 1)
    assert not rest.done()
    await clock.advance(1)
    with pytest.raises(ProviderError) as caught:
        await rest
    assert (caught.value.code, caught.value.recoverable, caught.value.status) == ("timeout", True, None)
    assert f"{Timeouts().idle_s:g} s" in str(caught.value)
    await asyncio.wait_for(openai_server.disconnected.wait(), 5)


async def test_a_server_that_never_answers_is_a_timeout(
    openai_server: FakeOpenAI, chat: Any, clock: ManualClock
) -> None:
    openai_server.script(Failure(hang=True))
    task = asyncio.create_task(collect(chat.stream(ask())))
    while not openai_server.requests:
        await asyncio.sleep(0)
    await clock.advance(Timeouts().first_s - 1)
    assert not task.done()
    await clock.advance(1)
    with raises_code(ProviderError, "timeout"):
        await task
    assert len(openai_server.requests) == 1


async def test_comments_keep_a_reply_alive(openai_server: FakeOpenAI, chat: Any, clock: ManualClock) -> None:
    openai_server.comments = True
    gate = asyncio.Event()
    openai_server.script(Reply(text="Hello there", hold_after=2, gate=gate))
    stream = chat.stream(ask())
    await anext(stream)
    rest = asyncio.create_task(collect(stream))
    await clock.settle()
    await clock.advance(250)
    gate.set()
    assert len(await rest) > 1


async def test_an_endless_answer_is_refused(
    openai_server: FakeOpenAI, chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai_server.extra["/v1/big"] = {"x": "y" * 2000}
    monkeypatch.setattr(http_client, "INLINE_JSON", 100)
    assert len((await chat.http.json("GET", "/big"))["x"]) == 2000
    async with chat.http.stream("GET", "/big") as response:
        with pytest.raises(ProviderError) as caught:
            await response.read(limit=1000)
    assert caught.value.code == "bad_response"


async def test_redirects_are_not_followed(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Failure(307, "", {"location": "http://127.0.0.1:1/elsewhere"}))
    with pytest.raises(ProviderError) as caught:
        await send(chat)
    assert (caught.value.code, caught.value.status) == ("bad_response", 307)


async def test_numbers_that_are_not_json_are_refused(chat: Any) -> None:
    with raises_code(ProviderError, "bad_request"):
        await chat.http.json("POST", "/x", {"a": float("nan")})


@pytest.mark.parametrize(
    "url",
    [
        "",
        "host",
        "ftp://host",
        "http://",
        "http://user:pw@host",
        "https://host?key=1",
        "https://host#x",
        "http://host:0",
        "http://[::1",
        "http://host:65536",
        "http://my host/v1",
    ],
)
def test_bad_base_urls(url: str) -> None:
    with raises_code(UsageError, "base_url") as caught:
        checked_base_url(url)
    assert "pw" not in str(caught.value)


def test_loopback() -> None:
    assert is_loopback("http://localhost:1/v1")
    assert is_loopback("http://127.0.0.9")
    assert is_loopback("http://[::1]:80")
    assert not is_loopback("https://localhost.example.org")


SILENT = [
    Failure(500, {"error": "x"}),
    Failure(401, ""),
    Failure(drop=True),
    Reply(text="abc", cut_after=2),
    Reply(text="fine"),
]
ECHOING = [
    Failure(500, {"error": f"failed for Bearer {SENTINEL}"}),
    Failure(400, f"bad key {SENTINEL}"),
    Reply(text="abc", midway_error={"error": {"message": f"key {SENTINEL} expired", "code": 400}}, error_after=1),
    Reply(raw=f"data: {SENTINEL}\n\n".encode()),
]


@pytest.mark.parametrize("step", [*SILENT, *ECHOING])
async def test_a_key_is_in_no_log_and_no_error(
    openai_server: FakeOpenAI, clock: ManualClock, caplog: pytest.LogCaptureFixture, step: Any
) -> None:
    """At the lowest log level, in every kind of failure; including local variables of our frames, unless the
    server itself repeats the key.
    """
    caplog.set_level(logging.DEBUG)
    openai_server.script(step)
    chat = provider("openai", openai_server.url, clock, key=SENTINEL)
    chat.retry = RetryPolicy(attempts=1)
    outcome = (await asyncio.gather(collect(chat.stream(ask())), return_exceptions=True))[0]
    assert isinstance(outcome, ProviderError) == (step is not SILENT[-1])
    assert openai_server.requests[0].headers["authorization"] == f"Bearer {SENTINEL}"
    if isinstance(outcome, ProviderError):
        assert SENTINEL not in f"{outcome!s} {outcome!r} {outcome.params}"
        assert SENTINEL not in "".join(traceback.format_exception(outcome))
        if step not in ECHOING:
            assert SENTINEL not in locals_of(outcome)
    assert SENTINEL not in caplog.text
    assert all(SENTINEL not in str(record.__dict__) for record in caplog.records)


def locals_of(error: BaseException) -> str:
    """The local variables of every frame of the program that an error passed, including its causes."""
    text = ""
    chain: BaseException | None = error
    while chain is not None:
        frames = [frame for frame, _ in traceback.walk_tb(chain.__traceback__)]
        text += "".join(
            repr(frame.f_locals)
            for frame in frames
            if f"{Path(atelier_desk.__file__).parent}" in frame.f_code.co_filename
        )
        chain = chain.__cause__ or chain.__context__
    assert text
    return text


async def test_a_wrong_key_repeated_by_the_server_is_redacted(openai_server: FakeOpenAI, clock: ManualClock) -> None:
    openai_server.api_key, openai_server.echo_key = "another-key", True
    chat = provider("openai", openai_server.url, clock, key=SENTINEL)
    health = await chat.test()
    assert (health.ok, health.code) == (False, "auth")
    assert SENTINEL not in health.message
    assert SENTINEL not in health.detail
    assert "[redacted]" in health.detail


async def test_a_closed_client_sends_nothing_more(openai_server: FakeOpenAI, clock: ManualClock) -> None:
    """Not even what waited for the keyring when it was closed."""
    asked, unlocked = asyncio.Event(), asyncio.Event()

    async def credentials() -> dict[str, str]:
        asked.set()
        await unlocked.wait()
        return {}

    client = HttpClient(openai_server.url, provider="Server", clock=clock, credentials=credentials)
    waiting = asyncio.create_task(client.json("GET", "/models"))
    await asked.wait()
    await client.aclose()
    unlocked.set()
    for request in (waiting, client.json("GET", "/models")):
        with pytest.raises(ProviderError) as refused:
            await request
        assert (refused.value.code, refused.value.charged) == (SETTINGS_CHANGED, False)
    assert not openai_server.requests


async def test_a_connection_is_reused(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Reply(text="one"), Reply(text="two"), Reply(text="three"))
    for _ in range(3):
        assert [delta async for delta in chat.stream(ask())]
    assert openai_server.connections == 1


async def test_a_response_left_open_after_its_end_mark_is_not_waited_for(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Reply(text="one", tail_open=True), Reply(text="two"))
    for _ in range(2):
        assert [delta async for delta in chat.stream(ask())]
    assert openai_server.connections == 2


class Dropping:
    """Serves one request per connection, or none on a later connection, and answers the rest by silence or by
    closing.
    """

    def __init__(self, *, silent: bool) -> None:
        self.silent = silent
        self.asked: list[int] = []
        self._count = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._count += 1
        mine = self._count
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.asked.append(mine)
                if self.asked.count(mine) > 1:
                    break
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
            if self.silent:
                await reader.read()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


@pytest.mark.parametrize("silent", [False, True])
async def test_a_reused_connection_that_sends_nothing_is_replaced(clock: ManualClock, silent: bool) -> None:
    dropping = Dropping(silent=silent)
    server = await asyncio.start_server(dropping.serve, "127.0.0.1", 0)
    client = HttpClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", provider="Server", clock=clock)
    assert await client.json("GET", "/a") == {}
    second = asyncio.create_task(client.json("GET", "/b"))
    while len(dropping.asked) < 2:
        await asyncio.sleep(0)
    if silent:
        await clock.advance(client.timeouts.call_s)
    assert await second == {}
    assert dropping.asked == [1, 1, 2]
    await client.aclose()
    server.close()


@pytest.mark.parametrize(("silent", "code"), [(False, "unreachable"), (True, "timeout")])
async def test_what_a_service_may_work_on_for_money_is_not_sent_again(
    clock: ManualClock, silent: bool, code: str
) -> None:
    dropping = Dropping(silent=silent)
    server = await asyncio.start_server(dropping.serve, "127.0.0.1", 0)
    client = HttpClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", provider="Server", clock=clock)
    assert await client.json("GET", "/a") == {}
    second = asyncio.create_task(client.json("POST", "/b"))
    while len(dropping.asked) < 2:
        await asyncio.sleep(0)
    if silent:
        await clock.advance(client.timeouts.call_s)
    with pytest.raises(ProviderError) as failed:
        await second
    assert (failed.value.code, failed.value.charged, dropping.asked) == (code, True, [1, 1])
    assert await client.json("POST", "/b") == {}, "over a new connection"
    await client.aclose()
    server.close()


async def test_what_a_closed_connection_did_not_take_is_sent_over_a_new_one(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was lost after the HTTP library found it usable, and before anything was written."""
    dropping = Dropping(silent=False)
    server = await asyncio.start_server(dropping.serve, "127.0.0.1", 0)
    client = HttpClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", provider="Server", clock=clock)
    assert await client.json("GET", "/a") == {}
    write = AnyIOStream.write
    lost: list[bytes] = []

    async def broken_once(stream: AnyIOStream, buffer: bytes, timeout: float | None = None) -> None:
        if not lost:
            lost.append(buffer)
            await stream.aclose()
        await write(stream, buffer, timeout)

    monkeypatch.setattr(AnyIOStream, "write", broken_once)
    assert await client.json("POST", "/b") == {}
    assert (len(lost), dropping.asked) == (1, [1, 2])
    await client.aclose()
    server.close()


async def test_a_new_connection_that_sends_nothing_is_not_retried(clock: ManualClock) -> None:
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    client = HttpClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", provider="Server", clock=clock)
    with pytest.raises(ProviderError):
        await client.json("GET", "/a")
    assert len(asked) == 1
    await client.aclose()
    server.close()


async def test_after_sleep_no_earlier_connection_is_used(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The monotonic clock did not advance, so the HTTP library still considers its connections fresh."""
    dropping = Dropping(silent=False)
    server = await asyncio.start_server(dropping.serve, "127.0.0.1", 0)
    client = HttpClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", provider="Server", clock=clock)
    assert await client.json("GET", "/a") == {}
    monkeypatch.setattr(clock, "_start", clock._start + timedelta(hours=8))
    assert await client.json("GET", "/b") == {}
    assert dropping.asked == [1, 2]
    await client.aclose()
    server.close()
