"""Limits on what a server can send: in size, speed and number of messages; errors name the server, and nothing
hangs.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from atelier_desk.domain.mcp import McpServer, McpState
from atelier_desk.domain.question import QuestionSpec, Sampling, UserQuestion
from atelier_desk.mcp import message_limits, server_requests
from atelier_desk.mcp.connection import Connection
from atelier_desk.mcp.message_limits import MessageRate, TooManyValuesError, ValueLimit
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.mcp_sign_in import served
from tests.helpers.servers.misbehaving_mcp_stdio import ECHO, tool
from tests.mcp.conftest import Make, alive
from tests.mcp.mcp_connections import connected, refused


def over(text: bytes, *, size: int, events: bool = False) -> bool:
    """Whether it is refused when it arrives in pieces of a size."""
    values = ValueLimit(events=events)
    try:
        for begin in range(0, len(text), size):
            values.feed(text[begin : begin + size])
    except TooManyValuesError:
        return True
    return False


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_commas_in_texts_are_not_counted_as_values(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_limits, "MOST_VALUES", 10)
    assert not over(json.dumps({"a": "x,y," * 50, "b": '\\",,\\\\,,"' * 20, "c": "\\"}).encode(), size=size)
    assert over(json.dumps({"a": "\\", "b": list(range(12))}).encode(), size=size)
    assert over(json.dumps(["\\\\\\", *range(12)]).encode(), size=size)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("size", [1, 2, 5, 1_000])
def test_each_event_of_a_stream_is_counted_separately(end: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_limits, "MOST_VALUES", 10)

    def stream(*events: Sequence[str]) -> bytes:
        return "".join(line + end for event in events for line in (*event, "")).encode()

    small = ("event: message", f"data: {json.dumps(list(range(8)))}")
    assert not over(stream(*[small] * 20), size=size, events=True)
    assert over(stream(small, (f"data: {json.dumps(list(range(12)))}",)), size=size, events=True)
    # Also across several lines and after an unmatched quotation mark.
    assert over(
        stream((': say "', "data: [0", *[f"data: ,{number}" for number in range(12)], "data: ]")),
        size=size,
        events=True,
    )


async def test_other_servers_are_served_while_a_long_message_is_counted() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    working = asyncio.create_task(other())
    with pytest.raises(TooManyValuesError):
        await message_limits.count(json.dumps([1] * 300_000).encode())
    assert turns >= 5
    await message_limits.count(json.dumps(["1," * 300_000]).encode())
    working.cancel()


async def test_a_flood_is_read_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    pace = MessageRate()
    monkeypatch.setattr(asyncio, "sleep", sleep)
    await pace.consume(message_limits.AT_ONCE)
    assert waited == []
    await pace.consume(message_limits.PER_S)
    assert waited == [pytest.approx(1, abs=0.2)]


async def test_an_answer_with_too_many_values_is_refused_before_it_is_parsed(plain: Make, clock: ManualClock) -> None:
    server = plain(tools=[ECHO, tool("many")])
    async with connected(server.config(), clock) as connection:
        error = await refused(connection.call("many", {}))
        assert (error.code, "200000 values" in str(error)) == ("too_large", True)
        assert connection.state is McpState.FAILED
        assert not any(map(alive, server.pids()))


class Nobody:
    """A person who must never be asked."""

    roots: Sequence[str] = ()
    model = "any"
    asked = 0

    async def refusal(self) -> str | None:
        return None

    async def ask(self, spec: QuestionSpec) -> UserQuestion:
        raise AssertionError(spec)

    async def sample(self, server: str, sampling: Sampling) -> Mapping[str, Any]:
        raise AssertionError(server)


async def test_requests_that_are_always_declined_do_not_keep_a_call_open(plain: Make, clock: ManualClock) -> None:
    async with connected(plain(tools=[tool("asks on")]).config(), clock) as connection:
        with connection.answers.serving(Nobody()) as open_call:
            asked = connection.request(lambda client: client.session.call_tool("asks on", {}), 0.5, serving=open_call)
            assert (await refused(asyncio.wait_for(asked, 20))).code == "timeout"
            assert 1 <= len(open_call.notes) <= server_requests.MOST_NOTES


async def test_a_call_may_ask_a_person_only_a_limited_number_of_times(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mcp_types as types

    from atelier_desk.domain.errors import UsageError

    class Busy(Nobody):
        async def ask(self, spec: QuestionSpec) -> UserQuestion:
            self.asked += 1
            raise UsageError("enough")

    monkeypatch.setattr(server_requests, "MOST_TURNS", 3)
    answers, desk = server_requests.Answers(clock, "plain"), Busy()
    form = types.ElicitRequestFormParams(
        message="Who?", requested_schema={"type": "object", "properties": {"name": {"type": "string"}}}
    )
    with answers.serving(desk):
        said = [(await answers.elicited(None, form)).message for _number in range(5)]
    assert desk.asked == 3
    assert said[3:] == ["it asked 3 times in one call"] * 2


INITIALIZED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "plain", "version": "1"},
}


@asynccontextmanager
async def over_http(kind: str, clock: ManualClock) -> AsyncIterator[Connection]:
    """A server that gives every call the same answer."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        body = b""
        while scope["method"] == "POST":
            part = await receive()
            body += part.get("body", b"")
            if not part.get("more_body"):
                break
        asked = json.loads(body or b"{}")
        method = asked.get("method")

        async def begin(status: int, media: str) -> None:
            await send(
                {"type": "http.response.start", "status": status, "headers": [(b"content-type", media.encode())]}
            )

        async def more(data: bytes, last: bool = False) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": not last})

        if scope["method"] != "POST" or "id" not in asked or method is None:
            await begin(405 if scope["method"] != "POST" else 202, "text/plain")
            await more(b"", last=True)
        elif method != "tools/call":
            known = {"initialize": INITIALIZED, "tools/list": {"tools": [ECHO]}}
            answer = (
                {"result": known[method]}
                if method in known
                else {"error": {"code": -32601, "message": "no such method"}}
            )
            await begin(200, "application/json")
            await more(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}).encode(), last=True)
        else:
            many = {
                "jsonrpc": "2.0",
                "id": asked["id"],
                "result": {"content": [], "structuredContent": {"rows": [1] * 300_000}},
            }
            if kind == "json":
                await begin(200, "application/json")
                await more(json.dumps(many).encode(), last=True)
                return
            await begin(200, "text/event-stream")
            if kind == "events":
                await more(b"event: message\ndata: " + json.dumps(many).encode() + b"\n\n", last=True)
                return
            params = {
                "message": "Who?",
                "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
            }
            for number in range(10_000):
                request = {"jsonrpc": "2.0", "id": f"q{number}", "method": "elicitation/create", "params": params}
                await more(b"event: message\ndata: " + json.dumps(request).encode() + b"\n\n")

    async with (
        served(app) as address,
        connected(McpServer(name="plain", transport="http", url=f"{address}/mcp"), clock) as connection,
    ):
        yield connection


class Slow(Nobody):
    """A person who never answers."""

    async def ask(self, spec: QuestionSpec) -> UserQuestion:
        self.asked += 1
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_server_over_http_that_asks_without_pause_is_abandoned(clock: ManualClock) -> None:
    desk = Slow()
    async with over_http("requests", clock) as connection:
        with connection.answers.serving(desk) as open_call:
            error = await refused(asyncio.wait_for(connection.call("echo", {"text": "x"}, serving=open_call), 20))
        assert (error.code, "100 requests" in str(error)) == ("flood", True)
        assert desk.asked <= server_requests.MOST_TURNS
        assert connection.state is McpState.FAILED


@pytest.mark.parametrize("kind", ["json", "events"])
async def test_an_answer_with_too_many_values_over_http_is_refused(kind: str, clock: ManualClock) -> None:
    async with over_http(kind, clock) as connection:
        error = await refused(asyncio.wait_for(connection.call("echo", {"text": "x"}), 20))
        assert (error.code, "200000 values" in str(error)) == ("too_large", True)
