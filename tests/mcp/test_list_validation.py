"""An invalid entry of a list is skipped and reported; the others are used."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types import JSONRPCRequest, JSONRPCResponse
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from atelier_desk.mcp.list_validation import LONGEST_NAME, Entries
from atelier_desk.presentation.mcp_server_text import why_text
from atelier_desk.support.i18n import spoken

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "string"}}}
GOOD = {"name": "good", "inputSchema": SCHEMA}
TOOLS: dict[str, tuple[Any, str]] = {
    "no type": ({"name": "odd", "inputSchema": {"properties": {}}}, "inputSchema.type is missing"),
    "another type": ({"name": "odd", "inputSchema": {"type": "string"}}, "inputSchema.type does not follow"),
    "no schema": ({"name": "odd"}, "inputSchema is missing"),
    "null schema": ({"name": "odd", "inputSchema": None}, "inputSchema does not follow"),
    "properties as a list": (
        {"name": "odd", "inputSchema": {"type": "object", "properties": []}},
        "inputSchema.properties does not",
    ),
    "a number as description": ({"name": "odd", "inputSchema": SCHEMA, "description": 5}, "description does not"),
    "an odd hint": (
        {"name": "odd", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": "yes please"}},
        "annotations.readOnlyHint",
    ),
    "an odd icon": ({"name": "odd", "inputSchema": SCHEMA, "icons": [{"mime": "x"}]}, "icons.0.src is missing"),
    "odd tasks": (
        {"name": "odd", "inputSchema": SCHEMA, "execution": {"taskSupport": "sometimes"}},
        "execution.taskSupport does not",
    ),
    "only as a task": (
        {"name": "odd", "inputSchema": SCHEMA, "execution": {"taskSupport": "required"}},
        "only as an MCP task",
    ),
    "a text": ("odd", "the entry does not follow"),
    "no name": ({"inputSchema": SCHEMA}, "name is missing"),
    "a long name": ({"name": "n" * (LONGEST_NAME + 1), "inputSchema": SCHEMA}, "1 to 256 characters"),
    "the same name": (GOOD, "the same name"),
}
OTHERS: dict[str, tuple[str, str, Any, Any]] = {
    "resource": ("resources/list", "resources", {"uri": "x://y"}, {"uri": "ok://1", "name": "ok"}),
    "template": (
        "resources/templates/list",
        "resourceTemplates",
        {"name": "y"},
        {"uriTemplate": "ok://{a}", "name": "ok"},
    ),
    "prompt": ("prompts/list", "prompts", {"name": "p", "arguments": [{"description": "no name"}]}, {"name": "ok"}),
}


def answered(
    entries: Entries, method: str, result: dict[str, Any], *, modern: str = "", cursor: str = ""
) -> dict[str, Any]:
    params: dict[str, Any] = {"_meta": {"io.modelcontextprotocol/protocolVersion": modern}} if modern else {}
    entries.on_sent(
        JSONRPCRequest(jsonrpc="2.0", id=1, method=method, params=params | ({"cursor": cursor} if cursor else {}))
    )
    message = JSONRPCResponse(jsonrpc="2.0", id=1, result=result)
    entries.on_received(message)
    return message.result


EARLIER = {"properties as a list", "odd tasks"}
"""Two entries that the newest protocol version does not define: the first is refused when the tool is created, the
second is an unknown field.
"""


@pytest.mark.parametrize(
    ("name", "modern"),
    [*((name, "") for name in TOOLS), *((name, MODERN_PROTOCOL_VERSIONS[-1]) for name in TOOLS if name not in EARLIER)],
)
def test_an_invalid_tool_is_skipped_and_reported_and_the_valid_one_used(name: str, modern: str) -> None:
    odd, why = TOOLS[name]
    entries = Entries()
    assert answered(entries, "tools/list", {"tools": [GOOD, odd]}, modern=modern)["tools"] == [GOOD]
    [rejected] = entries.rejected
    assert why in rejected.why
    assert why_text(rejected.why) == rejected.why
    with spoken("fr"):
        assert why_text(rejected.why) != rejected.why, "a person reads it in French"
    assert rejected.kind == "tool"


@pytest.mark.parametrize("kind", OTHERS)
def test_the_same_holds_for_resources_and_prompts(kind: str) -> None:
    method, key, odd, good = OTHERS[kind]
    entries = Entries()
    assert answered(entries, method, {key: [odd, good]})[key] == [good]
    assert [each.kind for each in entries.rejected] == [kind]
    assert answered(entries, method, {key: [good]})[key] == [good]
    assert entries.rejected == (), "a newer list takes the place of the one before"


def test_a_further_page_is_appended() -> None:
    entries = Entries()
    answered(entries, "tools/list", {"tools": [{"name": "a"}, GOOD], "nextCursor": "2"})
    assert answered(entries, "tools/list", {"tools": [{"name": "b"}, GOOD]}, cursor="2")["tools"] == []
    assert [each.name for each in entries.rejected] == ["a", "b", "good"]


def test_an_answer_without_a_kind_is_complete() -> None:
    entries = Entries()
    assert (
        answered(entries, "tools/call", {"content": []}, modern=MODERN_PROTOCOL_VERSIONS[-1])["resultType"]
        == "complete"
    )
    asks = {"resultType": "input_required", "inputRequests": {}}
    assert answered(entries, "tools/call", dict(asks), modern=MODERN_PROTOCOL_VERSIONS[-1]) == asks
    assert "resultType" not in answered(entries, "tools/call", {"content": []}), "earlier revisions have no such field"


def test_other_results_are_left_to_the_sdk() -> None:
    assert answered(Entries(), "tools/list", {"tools": "none"}) == {"tools": "none"}


@pytest.mark.parametrize("name", [5, None, ["a"], {"a": 1}])
def test_an_invalid_name_ends_no_connection_with_an_unknown_protocol_version(name: Any) -> None:
    entries = Entries()
    answered(entries, "initialize", {"protocolVersion": "1999-01-01"})
    assert answered(entries, "tools/list", {"tools": [GOOD, {**GOOD, "name": name}]})["tools"] == [GOOD]
    assert [each.name for each in entries.rejected] == [""]
