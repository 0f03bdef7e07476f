"""A server repeats its secret where results do not pass: it is neither stored, shown nor sent to a model."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from mcp_types import CallToolResult, LoggingMessageNotificationParams, ReadResourceResult

from atelier_desk.llm.secrets import remember
from atelier_desk.mcp import results
from atelier_desk.mcp.server_requests import Answers
from atelier_desk.presentation.mcp_server_text import why_text
from atelier_desk.support.i18n import spoken
from tests.engine.conftest import Opener, open_atelier
from tests.engine.services.mcp_servers import added
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.misbehaving_mcp_stdio import ECHO, tool
from tests.mcp.conftest import Make, plain
from tests.mcp.mcp_connections import connected, refused

__all__ = ["open_atelier", "plain"]

SECRET = "tk-0a1b2c3d4e5f60718293"
NUMBER = 918273645546372
SCHEMA = {"type": "object", "description": SECRET, "properties": {"a": {"type": "string"}}}
A = SCHEMA["properties"]["a"]  # type: ignore[index]
TOOLS: dict[str, dict[str, Any]] = {
    "title": {"title": f"Echo {SECRET}"},
    "description": {"description": f"Echo {SECRET}"},
    "encoded": {"description": base64.b64encode(f"Echo {SECRET}".encode()).decode()},
    "title in the hints": {"annotations": {"title": SECRET}},
    "schema": {"inputSchema": SCHEMA},
    "parameter": {"inputSchema": {"type": "object", "properties": {SECRET: A}}},
    "default": {"inputSchema": {"type": "object", "properties": {"a": {**A, "default": SECRET, "enum": [SECRET]}}}},
    "answer": {"outputSchema": SCHEMA},
    "icon": {"icons": [{"src": f"https://a.example/{SECRET}"}]},
    "more": {"_meta": {SECRET: [SECRET]}},
}


@pytest.fixture(autouse=True)
def secrets() -> None:
    remember(SECRET)
    remember(str(NUMBER))


@pytest.mark.parametrize("field", TOOLS)
async def test_a_definition_is_used_without_it(plain: Make, clock: ManualClock, field: str) -> None:
    async with connected(plain(tools=[{**ECHO, **TOOLS[field]}]).config(), clock) as connection:
        [found] = await connection.tools()
        assert found["name"] == "echo"
        assert SECRET not in json.dumps(found)
        assert "[redacted]" in json.dumps(found)


async def test_what_is_called_by_it_is_left_out(plain: Make, clock: ManualClock) -> None:
    answers = {
        "resources/list": {"resources": [{"name": "r", "uri": f"x://{SECRET}"}, {"name": SECRET, "uri": "x://y"}]},
        "resources/templates/list": {"resourceTemplates": [{"name": "t", "uriTemplate": f"x://{SECRET}/{{a}}"}]},
        "prompts/list": {"prompts": [{"name": SECRET}, {"name": "p", "description": SECRET}]},
    }
    offered: dict[str, Any] = {"resources": {}, "prompts": {}}
    server = plain(tools=[tool(SECRET), tool(f"{SECRET} bad", a=5), ECHO], answers=answers, capabilities=offered)
    async with connected(server.config(), clock) as connection:
        assert await connection.tools() == [ECHO]
        assert [each["name"] for each in await connection.resources()] == ["[redacted]"]
        assert await connection.templates() == []
        assert [each.about for each in await connection.prompts()] == ["[redacted]"]
        rejected = connection.entries.rejected
    assert [each.kind for each in rejected] == ["tool", "tool", "resource", "template", "prompt"]
    assert SECRET not in repr(rejected)
    why = rejected[0].why
    with spoken("fr"):
        assert why_text(why) != why, "a person reads it in French"


async def test_it_is_not_stored_with_what_the_server_says_of_itself(open_atelier: Opener, plain: Make) -> None:
    info = {"name": SECRET, "title": f"T {SECRET}", "version": SECRET}
    async with open_atelier() as atelier:
        await added(atelier, plain(info=info, instructions=f"Use {SECRET}."))
        known = (await atelier.mcp.list())[0].known
        assert (known.title, known.version) == ("T [redacted]", "[redacted]")
        assert SECRET not in known.model_dump_json()


async def test_it_is_not_in_the_progress_of_a_call(plain: Make, clock: ManualClock) -> None:
    async with connected(plain(tools=[tool("works")], progress=f"p {SECRET}").config(), clock) as connection:
        told: list[str] = []
        await connection.call("works", {}, lambda percent, text: told.append(text))
        assert told == ["p [redacted]"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be", "utf-32"])
def test_a_file_with_it_is_left_out(encoding: str) -> None:
    blob = base64.b64encode(f"a,b\n{SECRET}".encode(encoding)).decode()
    inner = {"uri": f"x://{SECRET}", "mimeType": "text/csv", "blob": blob}
    found = results.read(CallToolResult.model_validate({"content": [{"type": "resource", "resource": inner}]}))
    assert (found.files, found.left_out) == ((), ("x://[redacted] (text/csv): it contains a secret of the user",))
    assert results.contents(ReadResourceResult.model_validate({"contents": [inner]}))[1] == b""


def test_a_number_that_is_a_secret_is_hidden() -> None:
    assert str(NUMBER) not in repr(results.hidden({"pin": NUMBER}))


@pytest.mark.parametrize("data", [SECRET, [{"a": SECRET}], base64.b64encode(f"x {SECRET}".encode()).decode()])
async def test_it_is_not_in_what_a_server_logs(clock: ManualClock, data: object) -> None:
    answers = Answers(clock, "plain")
    await answers.logged(LoggingMessageNotificationParams(level="error", logger=f"log of {SECRET}", data=data))
    (line,) = answers.lines
    assert SECRET not in repr(line)
    assert (line.logger, "[redacted]" in line.text) == ("log of [redacted]", True)


async def test_a_part_of_it_is_not_in_the_log_where_a_printed_line_is_cut(
    plain: Make, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    server = plain(tools=[tool("prints")], progress=f"{'x' * 190}{SECRET} is wrong")
    with caplog.at_level("INFO"):
        async with connected(server.config(), clock) as connection:
            await connection.call("prints", {})
    printed = [each.getMessage() for each in caplog.records if "no message" in each.getMessage()]
    assert len(printed) == 1
    assert SECRET[:5] not in printed[0]


@pytest.mark.parametrize("written", [SECRET, base64.b64encode(f"x {SECRET}".encode()).decode()])
async def test_it_is_not_in_an_error_that_a_server_answers(plain: Make, clock: ManualClock, written: str) -> None:
    server = plain(tools=[tool("refuses")], progress=f"wrong: {written}")
    async with connected(server.config(), clock) as connection:
        error = await refused(connection.call("refuses", {}))
    assert written not in str(error) + repr(error.params)
    assert "[redacted]" in str(error)


async def test_it_is_not_in_the_last_words_of_a_program(plain: Make, clock: ManualClock) -> None:
    async with connected(plain(mode="dies", words=f"bad {SECRET}").config(), clock) as connection:
        error = await refused(connection.tools())
    assert SECRET not in str(error) + repr(error.params)
    assert "bad [redacted]" in str(error)
