"""A tool of an MCP server as seen by agents.

The server's description is only a hint: it never makes a call less restricted than others that send data out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from pydantic import create_model, model_validator

from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.call_presentation_and_subjects import Subjects
from atelier_desk.domain.mcp import McpServer
from atelier_desk.domain.model_messages import ImagePart, ToolSpec
from atelier_desk.domain.result_parts import PicturePart
from atelier_desk.mcp import argument_coercion, tool_definitions
from atelier_desk.mcp.results import Answer
from atelier_desk.tools.base import (
    Call,
    Effect,
    Input,
    NewArtefact,
    Outcome,
    Risk,
    ServerAsks,
    Tool,
    ToolCategory,
    ToolContext,
    ToolResult,
)
from atelier_desk.tools.definition.call_description import summary_of
from atelier_desk.tools.registry.sections import of_server

_KNOWN = 8
"""Maximum parameters named in an error."""


class Caller(Protocol):
    """Executes calls of servers."""

    async def call(
        self, server: str, tool: str, digest: str, arguments: Mapping[str, object], context: ToolContext
    ) -> Answer | ServerAsks:
        """Return the server's answer, or its requests; ``digest`` is of the definition that the call was approved for.

        Raises:
            McpError: the server failed, or now describes the tool differently.
        """
        ...


class Loose(Input):
    """Arguments validated as a whole against the server's schema."""

    model_config = {"extra": "allow"}


class McpTool(Tool):
    """Made by ``make``; each has its own class.

    Attributes:
        own_name: its name on the server.
        schema: of its arguments.
        seen: digest of the definition that the server sends now.
        is_program: its server runs on this machine, and may write files by itself.
        altered: ``seen`` is not the approved definition, which models are given.
    """

    kind = ApprovalKind.MCP
    category = ToolCategory.COMMON
    effect = Effect.NETWORK
    icon = "plug"
    rest_hint = "Ask the server for less, if its parameters let you."
    server: ClassVar[str]
    own_name: ClassVar[str]
    schema: ClassVar[dict[str, object]]
    server_description: ClassVar[str]
    seen: ClassVar[str]
    is_program: ClassVar[bool]
    altered: ClassVar[bool]
    caller: ClassVar[Caller]

    @property
    def description(self) -> str:
        return self.server_description

    def definition(self) -> ToolSpec:
        return ToolSpec(name=self.name, description=self.server_description, parameters=self.schema)

    def read_arguments(self, arguments: dict[str, object]) -> dict[str, object]:
        found: dict[str, object] = argument_coercion.read(self.schema, arguments)
        return found

    def describe(self, input: Input) -> Call:
        return Call(
            effect=Effect.NETWORK,
            risk=self.risk,
            kind=ApprovalKind.MCP,
            subjects=Subjects(server=self.server),
            timeout_s=self.timeout_s,
            details={"mcp_servers": [self.server]},
            summary=summary_of(input.model_extra or {}),
            altered=self.altered,
        )

    async def run(self, input: Input, context: ToolContext) -> Outcome:
        answer = await self.caller.call(self.server, self.own_name, self.seen, input.model_extra or {}, context)
        return answer if isinstance(answer, ServerAsks) else outcome(answer, self.server)


def make(server: McpServer, name: str, definition: Mapping[str, object], caller: Caller, *, seen: str = "") -> McpTool:
    """Return the tool of an approved definition; ``seen`` is the digest of what the server sends now, if it differs.

    Raises:
        Unusable: its parameters cannot be used.
    """
    schema = tool_definitions.parameters(definition)
    own = tool_definitions.digest(definition)
    attributes = {
        "name": name,
        "title": f"{server.name}: {tool_definitions.title(definition)}",
        "section": of_server(server.name),
        # A tool's claim to be non-destructive proves nothing; the opposite claim is believed.
        "risk": Risk.HIGH if tool_definitions.hint(definition, "destructiveHint") else Risk.MEDIUM,
        # The connection limits each step of the call; time does not count while a person is asked.
        "timeout_s": 0.0,
        "input": _input_of(name, schema),
        "server": server.name,
        "own_name": str(definition["name"]),
        "schema": schema,
        "server_description": tool_definitions.description(definition),
        "seen": seen or own,
        "is_program": server.transport == "stdio",
        "altered": bool(seen) and seen != own,
        "caller": caller,
    }
    made: McpTool = type(f"{name}_tool", (McpTool,), attributes)()
    return made


def outcome(answer: Answer, server: str) -> ToolResult:
    """Return the result for the model, with its display parts."""
    data: dict[str, object] = {"text": answer.text} if answer.text else {}
    if answer.structured is not None:
        data["structured"] = answer.structured
    if answer.links:
        data["resources"] = list(answer.links)
    if answer.files:
        data["files"] = [
            {"name": file.name, "media_type": file.media_type, "size": len(file.data)} for file in answer.files
        ]
    if answer.pictures:
        data["pictures"] = len(answer.pictures)
    if answer.left_out:
        data["left_out"] = list(answer.left_out)
    if answer.note:
        data["note"] = answer.note
    if answer.failed:
        rest = {key: value for key, value in data.items() if key != "text"}
        return ToolResult.failure(
            answer.text or f"The tool of the MCP server {server} failed and said nothing of why.", "tool_failed", **rest
        )
    pictures = (
        PicturePart(title=server, image=ImagePart(media_type=each.media_type, data=each.data))
        for each in answer.pictures
    )
    files = (NewArtefact(each.name, each.data, each.media_type) for each in answer.files)
    return ToolResult({"success": True, **data}, parts=(*pictures, *files))


def _input_of(name: str, schema: dict[str, Any]) -> type[Input]:
    def check(cls: type[Input], values: Any) -> object:
        given = _without_nulls(schema, values)
        if problem := tool_definitions.argument_mismatch(schema, given):
            known = list(schema["properties"])
            more = f" and {len(known) - _KNOWN} more" if len(known) > _KNOWN else ""
            required = ", ".join(map(str, schema.get("required") or ())) or "nothing"
            raise ValueError(
                f"{problem}. It takes {', '.join(known[:_KNOWN]) or 'nothing'}{more}; required: {required}"
            )
        return given

    # Check the whole object first, before pydantic.
    decorated: Any = classmethod(check)
    checks: Any = {"check": model_validator(mode="before")(decorated)}
    return create_model(f"{name}_input", __base__=Loose, __validators__=checks)


def _without_nulls(schema: Mapping[str, Any], values: Mapping[str, object]) -> dict[str, object]:
    """Drop nulls where the schema does not allow null: models often send every parameter."""

    def takes_null(property: object) -> bool:
        kind = property.get("type") if isinstance(property, dict) else None
        return (
            kind == "null"
            or (isinstance(kind, list) and "null" in kind)
            or (isinstance(property, dict) and kind is None)
        )

    known = schema["properties"]
    return {
        key: value for key, value in values.items() if value is not None or key not in known or takes_null(known[key])
    }
